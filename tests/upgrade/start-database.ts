import { openDataFolder } from "../../local/folders/data-folder.ts";
import { startDatabase } from "../../local/postgres/database-server.ts";

// The part of npm start that upgrades a data folder, as a process that a test can kill.
const [dataDir = "", migrations = ""] = process.argv.slice(2);
const folder = await openDataFolder(dataDir, "none");
await startDatabase({ folder, port: 0, migrations, onProgress: (step) => console.log(step) });
console.log("started");
