/** Statements of the data API that run at once. The gateway lets in no more, so that none waits inside. */
export const restConnections = 12;

/** Bytes of one answer, before the data API holds it in memory and after. */
export const largestAnswer = 10 * 1024 * 1024;
