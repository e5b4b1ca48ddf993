// Draws the hexagon of README from the code: `bun tests/pages/hexagon.ts` writes hexagon.svg beside this file.
import { join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { importsOf, type SourceFile, sourceFiles } from "../architecture/source_tree.ts"

/** A port, and the technologies that implement it. */
export interface DrawnPort {
  /** Its class, such as `RecordRepository`. */
  readonly name: string
  readonly area: string
  readonly technologies: ReadonlyArray<string>
}

/** What the picture shows. */
export interface Hexagon {
  readonly ports: ReadonlyArray<DrawnPort>
  /** Areas that have use cases. */
  readonly useCases: ReadonlyArray<string>
  readonly domain: ReadonlyArray<string>
  /** What uses the product, and the areas of the use cases that it imports. */
  readonly driving: ReadonlyArray<readonly [name: string, what: string]>
  readonly faces: ReadonlyArray<string>
}

const AREAS = ["records", "identity", "scheduler", "media", "gateway"]

const words = (name: string): string => name.replaceAll("_", " ")

const portsIn = (files: ReadonlyArray<SourceFile>): ReadonlyArray<DrawnPort> => {
  const declared = files.flatMap(({ path, code }) =>
    [...code.matchAll(/class (\w+) extends Context\.Service</g)].flatMap(([, name = ""]) => {
      const area = /^domain\/(\w+)\//.exec(path)?.[1]
      return area === undefined ? [] : [{ name, area }]
    }),
  )
  const implemented = files.flatMap(({ path, code }) => {
    const technology = /^adapters\/driven\/\w+\/(\w+)\.ts$/.exec(path)?.[1]
    const layer = code.split(/export const layer\b/)[1]
    const port = /Layer\.\w+\(\s*(?:\w+\.)?(\w+),/.exec(layer ?? "")?.[1]
    return technology === undefined || port === undefined ? [] : [{ port, technology }]
  })
  return declared
    .map((each) => ({
      ...each,
      technologies: implemented.filter(({ port }) => port === each.name).map(({ technology }) => words(technology)),
    }))
    .filter(({ technologies }) => technologies.length > 0)
    .sort((one, other) => AREAS.indexOf(one.area) - AREAS.indexOf(other.area) || one.name.localeCompare(other.name))
}

const areasIn = (files: ReadonlyArray<SourceFile>, room: string) =>
  AREAS.filter((area) => files.some(({ path }) => path.startsWith(`${room}/${area}/`)))

/** Areas whose use cases the files of a driving adapter import. */
const usedBy = (files: ReadonlyArray<SourceFile>, room: string): string => {
  const modules = files.filter(({ path }) => path.startsWith(room)).flatMap(importsOf)
  return AREAS.filter((area) => modules.some((each) => each.includes(`application/${area}/`))).join(", ")
}

/** Reads the picture from the files of the product. */
export const readHexagon = (files: ReadonlyArray<SourceFile>, faces: ReadonlyArray<string>): Hexagon => ({
  ports: portsIn(files),
  useCases: areasIn(files, "application"),
  domain: areasIn(files, "domain"),
  driving: [
    ["HTTP (Elysia)", usedBy(files, "adapters/driving/http/")],
    ["command line", usedBy(files, "adapters/driving/cli/")],
    ["gateway of the stack", usedBy(files, "stack/")],
  ],
  faces,
})

const WIDTH = 1000
const CENTRE_X = 462
const RADIUS = 275
const ROW = 34
const AREA_GAP = 14

const STYLE = `
  :root { color-scheme: light dark }
  text { font: 14px system-ui, sans-serif; fill: #1b1b1f } .name { font-weight: 600 } .small { font-size: 12px; fill: #55555f }
  .middle { text-anchor: middle } .end { text-anchor: end } .title { font-weight: 600; font-size: 15px }
  .outer { fill: #e9eefb; stroke: #2b4fa8; stroke-width: 2 } .inner { fill: #fff; stroke: #2b4fa8; stroke-width: 1.5 }
  .line { stroke: #8a94b0; stroke-width: 1.2 } .port { fill: #2b4fa8 }
  @media (prefers-color-scheme: dark) { text { fill: #e8e8ee } .small { fill: #b3b3bf }
    .outer { fill: #1d2438; stroke: #a3bdff } .inner { fill: #16161a; stroke: #a3bdff } .port { fill: #a3bdff } }`

const text = (x: number, y: number, content: string, kind = "") =>
  `<text x="${Math.round(x)}" y="${Math.round(y)}"${kind === "" ? "" : ` class="${kind}"`}>${content}</text>`

const hexagonPath = (y: number, radius: number, kind: string): string => {
  const corners = [0, 1, 2, 3, 4, 5].map((corner) => {
    const angle = (Math.PI / 3) * corner - Math.PI / 2
    return `${(CENTRE_X + radius * Math.cos(angle)).toFixed(1)},${(y + radius * Math.sin(angle)).toFixed(1)}`
  })
  return `<polygon points="${corners.join(" ")}" class="${kind}"/>`
}

/** How far the outer edge is from the middle, at this distance above or below it. */
const edgeAt = (distance: number): number => {
  const straight = RADIUS / 2
  const width = (RADIUS * Math.sqrt(3)) / 2
  return Math.abs(distance) <= straight ? width : (width * (RADIUS - Math.abs(distance))) / straight
}

/** Draws the picture, as an SVG of its own in light and dark. */
export const drawHexagon = ({ ports, useCases, domain, driving, faces }: Hexagon): string => {
  const isFirst = (at: number) => ports[at - 1]?.area !== ports[at]?.area
  const gaps = ports.map((_port, at) => ports.slice(1, at + 1).filter((_each, i) => isFirst(i + 1)).length)
  const rowAt = (at: number) => 50 + at * ROW + (gaps[at] ?? 0) * AREA_GAP
  const height = Math.max(rowAt(ports.length - 1) + 50, 2 * RADIUS + 40)
  const middle = height / 2
  const edge = (y: number) => edgeAt(Math.max(-0.97, Math.min(0.97, (y - middle) / RADIUS)) * RADIUS)

  const right = ports.flatMap(({ name, area, technologies }, at) => {
    const y = rowAt(at)
    const onEdge = middle + ((y - middle) * (RADIUS - 30)) / (middle - 40)
    const x = CENTRE_X + edge(onEdge)
    return [
      `<line x1="${x.toFixed(1)}" y1="${onEdge.toFixed(1)}" x2="722" y2="${y - 4}" class="line"/>`,
      `<circle cx="${x.toFixed(1)}" cy="${onEdge.toFixed(1)}" r="5" class="port"/>`,
      text(730, y, name, "name"),
      text(730, y + 14, technologies.join(", "), "small"),
      ...(isFirst(at) ? [text(WIDTH - 10, y, area, "small end")] : []),
    ]
  })
  const left = driving.flatMap(([name, what], at) => {
    const y = middle - 100 + at * 90
    const x = (CENTRE_X - edge(y)).toFixed(1)
    return [
      `<line x1="10" y1="${y}" x2="${x}" y2="${y}" class="line"/>`,
      `<circle cx="${x}" cy="${y}" r="5" class="port"/>`,
      text(10, y - 8, name, "name"),
      text(10, y + 16, what, "small"),
    ]
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Portolan's hexagon">
<style>${STYLE}
</style>
${hexagonPath(middle, RADIUS, "outer")}
${hexagonPath(middle, RADIUS * 0.5, "inner")}
${[
  text(10, 24, "what uses it", "title"),
  text(CENTRE_X, middle - RADIUS * 0.7, "use cases", "middle title"),
  ...useCases.map((area, at) => text(CENTRE_X, middle + RADIUS * 0.58 + at * 17, area, "middle small")),
  text(CENTRE_X, middle - 46, "domain", "middle title"),
  ...domain.map((area, at) => text(CENTRE_X, middle - 18 + at * 19, area, "middle")),
  text(730, 24, "ports and their adapters", "title"),
  ...left,
  text(10, height - 90, "the library's faces", "name"),
  ...faces.map((face, at) => text(10, height - 72 + at * 15, face, "small")),
  ...right,
].join("\n")}
</svg>
`
}

/** The picture as the code is now. */
export const currentHexagon = (): string =>
  drawHexagon(
    readHexagon(
      sourceFiles(),
      Object.keys(manifest.exports)
        .filter((name) => name !== "./package.json")
        .map((name) => name.replace(/^\./, manifest.name)),
    ),
  )

/** Where the picture lies. */
export const HEXAGON_FILE = join(import.meta.dir, "hexagon.svg")

if (import.meta.main) await Bun.write(HEXAGON_FILE, currentHexagon())
