/** Whether the host of a URL or a Host header is this machine. */
export const isLoopbackHost = (host: string) =>
  /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(:\d{1,5})?$/i.test(host);
