import type { ServerResponse } from "node:http";
import type { GatewayLimits } from "./limits.ts";

/** Counts what is held of bodies and of answers until their readers took them. */
export class HeldBytes {
  #of = new Map<string, number>();
  #total = 0;

  constructor(private readonly limits: Pick<GatewayLimits, "heldBytes" | "heldBytesPerAddress">) {}

  /** False where there is no room for it; else it counts until the response is over. */
  hold(address: string, bytes: number, response: ServerResponse): boolean {
    const { heldBytes, heldBytesPerAddress } = this.limits;
    if ((this.#of.get(address) ?? 0) + bytes > heldBytesPerAddress || this.#total + bytes > heldBytes)
      return false;
    this.#add(address, bytes);
    response.once("close", () => this.#add(address, -bytes));
    return true;
  }

  #add(address: string, bytes: number): void {
    this.#total += bytes;
    const held = (this.#of.get(address) ?? 0) + bytes;
    if (held > 0) this.#of.set(address, held);
    else this.#of.delete(address);
  }
}
