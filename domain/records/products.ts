import { Type } from "typebox"
import { defineCollection } from "./collection.ts"

/** The example record type: a catalogue item (specification 2.1). */
export const products = defineCollection({
  name: "products",
  fields: Type.Object({
    name: Type.String({
      minLength: 1,
      maxLength: 1000,
      description: "What the item is called",
      examples: ["Anchor chain"],
    }),
    price: Type.Number({ minimum: 0, default: 0, description: "Price, 0 when omitted", examples: [12.5] }),
  }),
})
