// The picture of README shows what the code has.
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { sourceFile } from "../architecture/source_tree.ts"
import { currentHexagon, drawHexagon, HEXAGON_FILE, readHexagon } from "./hexagon.ts"

describe("the hexagon", () => {
  test("is the one of the code; `bun tests/pages/hexagon.ts` draws it again", () => {
    expect(readFileSync(HEXAGON_FILE, "utf8")).toBe(currentHexagon())
  })

  test("shows every port with its technologies, and nothing that is none", () => {
    const { ports } = readHexagon(
      [
        sourceFile("domain/records/a.ts", "export class Ships extends Context.Service<Ships, {}>()"),
        sourceFile("domain/records/b.ts", "export class Nobody extends Context.Service<Nobody, {}>()"),
        sourceFile("adapters/driven/ships/memory.ts", "export const layer = Layer.sync(Ships, () => 1)"),
        sourceFile(
          "adapters/driven/ships/paper.ts",
          "export const layer = (o) =>\n  Layer.effect(\n    port.Ships, 1)",
        ),
        sourceFile("adapters/driven/ships/ink.ts", "const layer = Layer.sync(Ships, () => 1)"),
      ],
      [],
    )
    expect(ports).toEqual([{ name: "Ships", area: "records", technologies: ["memory", "paper"] }])
    const drawn = drawHexagon({ ports, useCases: [], domain: [], driving: [], faces: [] })
    expect(drawn).toContain(">Ships<")
    expect(drawn).toContain(">memory, paper<")
  })
})
