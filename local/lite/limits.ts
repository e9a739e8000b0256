/** Concurrent statements of the data API. The gateway admits no more, so that none is queued inside. */
export const restConnections = 12;

/** Maximum bytes of one result and of one response. */
export const maxResultBytes = 10 * 1024 * 1024;
