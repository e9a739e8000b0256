import { z } from "zod";

const noMeta = z.object({}).meta({ id: "NoMeta", description: "Empty: the response has nothing but its data." });

export function dataOf<Data extends z.ZodType>(data: Data) {
  return z.object({ data, meta: noMeta });
}

export function listOf<Item extends z.ZodType, Meta extends z.ZodType>(item: Item, meta: Meta) {
  return z.object({ data: z.array(item), meta });
}
