const loopback = /^(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/;
const passedOn = ["x-forwarded-for", "x-real-ip", "forwarded", "via"];

/** Of a URL or a Host header. */
export const isLoopbackHost = (host: string) =>
  /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/i.test(host);

/**
 * Whether a request comes from this machine. A proxy on this machine, and a name that leads a browser to it, would make
 * strangers look as if they were here.
 */
export const isFromLoopback = (address: string, header: (name: string) => string | undefined) =>
  loopback.test(address) &&
  isLoopbackHost(header("host") ?? "") &&
  passedOn.every((name) => header(name) === undefined);
