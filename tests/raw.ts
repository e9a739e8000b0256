import { connect } from "node:net";

/** Sends bytes unchanged; returns the received data once the connection is closed or no more arrives. */
export function raw(bytes: string, to: { port: number | string; from?: string; timeoutMs?: number }): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port: Number(to.port), host: "127.0.0.1", localAddress: to.from ?? "127.0.0.1" });
    let answer = "";
    socket.setTimeout(to.timeoutMs ?? 5_000, () => socket.destroy());
    socket.on("error", () => undefined);
    socket.setEncoding("latin1").on("data", (text: string) => {
      answer += text;
    });
    socket.on("close", () => resolve(answer));
    socket.write(bytes, "latin1");
  });
}
