import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { choosePort } from "../../local/processes/ports.ts";
import { until } from "../until.ts";

const program = "/usr/sbin/pgbouncer";
export const hasPgbouncer = existsSync(program);

/** Debian's PgBouncer in transaction mode, which does not track prepared statements before 1.21. */
export async function startPgbouncer(
  postgresPort: number,
  { user, password, size }: { user: string; password: string; size: number },
): Promise<{ port: number; close(): Promise<void> }> {
  const folder = await mkdtemp("/tmp/feedback-pgbouncer-");
  const port = await choosePort(0, "PORT");
  const isRoot = process.getuid?.() === 0;
  await writeFile(
    join(folder, "pgbouncer.ini"),
    `[databases]
postgres = host=127.0.0.1 port=${postgresPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder, "users.txt")}
pool_mode = transaction
default_pool_size = ${size}
max_client_conn = 300
${isRoot ? "user = nobody" : ""}
`,
  );
  await writeFile(join(folder, "users.txt"), `"${user}" "${password}"\n`);
  // It does not run as root, so another user must be able to read these files.
  await chmod(folder, 0o755);
  const child = spawn(program, ["-q", join(folder, "pgbouncer.ini")], { stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await until(() => answers(port));
  return {
    port,
    async close() {
      child.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
