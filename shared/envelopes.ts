import { z } from "zod";

export function dataOf<Data extends z.ZodType>(data: Data) {
  return z.object({ data });
}

export function listOf<Item extends z.ZodType, Meta extends z.ZodType>(item: Item, meta: Meta) {
  return z.object({ data: z.array(item), meta });
}
