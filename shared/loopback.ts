const loopback = /^(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/;
const forwardingHeaders = ["x-forwarded-for", "x-real-ip", "forwarded", "via"];

/** Whether the host of a URL or a Host header is this machine. */
export const isLoopbackHost = (host: string) =>
  /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/i.test(host);

/**
 * Whether a request comes from this machine. False for requests through a proxy on this machine, and for host names
 * other than loopback (DNS rebinding).
 */
export const isFromLoopback = (address: string, header: (name: string) => string | undefined) =>
  loopback.test(address) &&
  isLoopbackHost(header("host") ?? "") &&
  forwardingHeaders.every((name) => header(name) === undefined);
