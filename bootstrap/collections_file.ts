import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect } from "effect"
import Type, { type TObject } from "typebox"
import { Compile } from "typebox/schema"
import { judgePattern } from "../adapters/driven/pattern_judge/redos_detector.ts"
import { isObject } from "../domain/json_object.ts"
import { type Collection, type CollectionDefinition, defineCollection } from "../domain/records/collection.ts"
import { collectionMistakes } from "../domain/records/collection_mistakes.ts"
import { InvalidCollectionSetup } from "../domain/records/errors.ts"
import { InvalidConfiguration } from "./config.ts"
import { provideLibrary } from "./library_modules.ts"
import { moduleFailure } from "./module_failure.ts"

/** What is wrong with what the variable names, one sentence for each mistake. */
const refuse = (...rules: ReadonlyArray<string>): Effect.Effect<never, ReadonlyArray<string>> => Effect.fail(rules)

/** Form of the .json file. What a definition may hold is judged by `defineCollection`. */
const FILE = Compile(
  Type.Object(
    { collections: Type.Array(Type.Object({ name: Type.String() }), { minItems: 1 }) },
    { additionalProperties: false },
  ),
)

/** The text of a file in UTF-8; a byte order mark in front is skipped. */
const readText = (path: string) =>
  Effect.tryPromise({ try: () => readFile(path), catch: () => ["the file cannot be read"] }).pipe(
    Effect.flatMap((bytes) =>
      Effect.try({
        try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
        catch: () => ["the file is not UTF-8"],
      }),
    ),
  )

const fromJson = Effect.fnUntraced(function* (text: string) {
  const file: unknown = yield* Effect.try({
    try: () => JSON.parse(text),
    catch: () => ["the file is not valid JSON"],
  })
  if (!FILE.Check(file)) {
    const [first] = FILE.Errors(file)[1]
    const rule = first?.keyword === "boolean" ? "is not known" : (first?.message ?? "")
    return yield* refuse(`the file's form is broken at '${first?.instancePath ?? ""}': ${rule}`)
  }
  const collections: Array<Collection<object>> = []
  const broken: Array<string> = []
  for (const each of file.collections) {
    try {
      // What the file holds is judged before anything is made of it.
      collections.push(defineCollection(each as CollectionDefinition<TObject>, judgePattern))
    } catch (failure) {
      if (!(failure instanceof InvalidCollectionSetup)) throw failure
      broken.push(...failure.sentences)
    }
  }
  return broken.length > 0 ? yield* refuse(...broken) : collections
})

const isCollection = (value: unknown): value is Collection<object> =>
  isObject(value) &&
  typeof value["name"] === "string" &&
  typeof value["check"] === "function" &&
  isObject(value["fields"]) &&
  isObject(value["roles"])

const fromModule = Effect.fnUntraced(function* (path: string) {
  yield* Effect.promise(provideLibrary)
  const module: unknown = yield* Effect.tryPromise({
    try: () => import(pathToFileURL(path).href),
    catch: (failure) => failure,
  }).pipe(
    Effect.catch((failure) =>
      Effect.flatMap(
        Effect.promise(() => moduleFailure(failure, path)),
        (text) => refuse(text),
      ),
    ),
  )
  const collections = isObject(module) ? Object.values(module).flat().filter(isCollection) : []
  if (collections.length === 0) return yield* refuse("the module exports no collection")
  // A module may hold a collection that it did not make with this version's `defineCollection`.
  const broken = collections.flatMap((collection) => {
    const issues = collectionMistakes(collection, judgePattern)
    return new InvalidCollectionSetup({ collection: collection.name, issues }).sentences
  })
  return broken.length > 0 ? yield* refuse(...broken) : collections
})

/**
 * Reads what `COLLECTIONS` names: a `.json` file (`{"collections":[{"name","fields",...}]}`) or a module exporting
 * results of `defineCollection`.
 *
 * @fails {InvalidConfiguration} naming the file, the collection, the field and the rule; of a module that cannot be loaded
 * the file and line that the runtime tells
 */
export const loadCollections = Effect.fn("loadCollections")(
  function* (file: string) {
    const path = resolve(file)
    const collections: ReadonlyArray<Collection<object>> = /\.json$/i.test(path)
      ? yield* Effect.flatMap(readText(path), fromJson)
      : yield* fromModule(path)
    const names = collections.map(({ name }) => name)
    const twice = names.find((name, at) => names.indexOf(name) !== at)
    return twice === undefined ? collections : yield* refuse(`the collection '${twice}' is defined twice`)
  },
  (program, file) =>
    Effect.mapError(
      program,
      (rules) =>
        new InvalidConfiguration({
          mistakes: rules.map((rule) => ({ variable: "COLLECTIONS", rule: `names '${file}': ${rule}` })),
        }),
    ),
)
