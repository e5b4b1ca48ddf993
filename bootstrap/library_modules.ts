/**
 * Lets modules that are imported from now on import the library that runs, and the schema language of its definitions: a
 * module that lies outside every project finds no package, nor does one beside the single executable.
 */
export const provideLibrary = async (): Promise<void> => {
  const modules = { portolan: await import("./records.ts"), typebox: await import("typebox") }
  Bun.plugin({
    name: "the library that runs",
    setup: (build) => {
      for (const [name, module] of Object.entries(modules))
        build.module(name, () => ({ loader: "object", exports: { ...module } }))
    },
  })
}
