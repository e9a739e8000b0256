import type { GatewayLimits } from "./limits.ts";

/** A response to the client or of a function, which occupies memory until it is closed. */
export interface Holder {
  /** Also true where the client left. */
  readonly destroyed: boolean;
  once(event: "close", listener: () => void): unknown;
  destroy(): unknown;
}

/** Limits the bytes of bodies and responses in memory, here and in the functions. */
export class BufferedBytes {
  /** Usage by address; holders in order of age. */
  #of = new Map<string, { bytes: number; holders: Map<Holder, number> }>();
  #total = 0;

  constructor(private readonly limits: Pick<GatewayLimits, "heldBytes" | "heldBytesPerAddress">) {}

  /**
   * Counts the bytes until the holder is closed; returns false above the limit of the address, unless the bytes must be
   * kept. Above the total limit the oldest holders of the address with the most bytes are closed, so that a few addresses
   * cannot block others.
   */
  hold(address: string, bytes: number, holder: Holder, isRefusable = true): boolean {
    const { heldBytes, heldBytesPerAddress } = this.limits;
    const own = (this.#of.get(address)?.bytes ?? 0) + bytes;
    if (isRefusable && own > heldBytesPerAddress) return false;
    while (this.#total + bytes > heldBytes) {
      const [most, entry] = this.#most();
      const [oldest] = entry && most !== address && entry.bytes > own ? entry.holders.keys() : [];
      if (!oldest && isRefusable) return false;
      if (!oldest) break;
      this.#release(most, oldest);
      oldest.destroy();
    }
    if (bytes === 0 || holder.destroyed) return true;
    this.#add(address, bytes, holder);
    holder.once("close", () => this.#release(address, holder));
    return true;
  }

  #most() {
    let most: [string, { bytes: number; holders: Map<Holder, number> } | undefined] = ["", undefined];
    for (const entry of this.#of) if (entry[1].bytes > (most[1]?.bytes ?? 0)) most = entry;
    return most;
  }

  #add(address: string, bytes: number, holder: Holder): void {
    const entry = this.#of.get(address) ?? { bytes: 0, holders: new Map() };
    this.#of.set(address, entry);
    entry.holders.set(holder, (entry.holders.get(holder) ?? 0) + bytes);
    entry.bytes += bytes;
    this.#total += bytes;
  }

  #release(address: string, holder: Holder): void {
    const entry = this.#of.get(address);
    const bytes = entry?.holders.get(holder);
    if (!entry || bytes === undefined) return;
    entry.holders.delete(holder);
    entry.bytes -= bytes;
    this.#total -= bytes;
    if (entry.holders.size === 0) this.#of.delete(address);
  }
}
