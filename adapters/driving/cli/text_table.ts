const cellText = (value: unknown): string => (value === undefined || value === null ? "-" : String(value))

/** Rows as aligned columns under upper-case titles. */
export const textTable = (titles: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<unknown>>): string => {
  const cells = [titles.map((title) => title.toUpperCase()), ...rows.map((row) => row.map(cellText))]
  const widths = titles.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? "").length)))
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")
}
