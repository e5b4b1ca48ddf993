// The parameters of reading, as OpenAPI describes them, from the same fields that they are judged by.
import { assignedFields } from "../../../domain/records/assigned_fields.ts"
import { WILDCARDS_MAX } from "../../../domain/records/like_pattern.ts"
import { CONDITIONS_MAX, ORDER_FIELDS_MAX, VALUE_LENGTH_MAX, VALUES_MAX } from "../../../domain/records/list_query.ts"
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "../../../domain/records/page.ts"
import {
  type FieldKind,
  ID_FIELD,
  type QueryField,
  queryFieldsOf,
  type RecordSchema,
} from "../../../domain/records/query_field.ts"
import { NUMBER_PATTERN } from "./condition_text.ts"
import { LIST_PARAMETERS } from "./record_query.ts"

const VALUE_PATTERNS: Readonly<Record<FieldKind, string>> = {
  number: NUMBER_PATTERN,
  text: "[\\s\\S]*",
  flag: "(?:true|false)",
}

const QUOTED = '"(?:[^"\\\\]|\\\\["\\\\])*"'

/** The form of a condition. That its values fit is judged beyond it: their length, their number, the use of `\`. */
const conditionPattern = (kind: FieldKind): string => {
  const value = VALUE_PATTERNS[kind]
  const item = kind === "text" ? `(?:${QUOTED}|[^",]+)` : value
  const like = kind === "text" ? "|like" : ""
  return `^(?:(?:eq|neq|gt|gte|lt|lte${like})\\.${value}|in\\.\\(${item}(?:,${item})*\\)|is\\.null)$`
}

const EXAMPLE_OPERATORS: Readonly<Record<FieldKind, string>> = { number: "gte", text: "eq", flag: "eq" }

const filterDoc = ({ name, kind }: QueryField, schema: { readonly examples?: ReadonlyArray<unknown> }) => {
  const [value] = schema.examples ?? []
  const like = kind === "text" ? `, \`like.\` with at most ${WILDCARDS_MAX} \`*\` for any text` : ""
  return {
    name,
    in: "query",
    description:
      `Condition on \`${name}\`: \`eq.\`, \`neq.\`, \`gt.\`, \`gte.\`, \`lt.\` or \`lte.\` and a value${like}, ` +
      `\`in.(a,b)\` with at most ${VALUES_MAX} values, or \`is.null\`. Of several, all hold; ` +
      `at most ${CONDITIONS_MAX} in all, with texts of at most ${VALUE_LENGTH_MAX} characters`,
    schema: { type: "array", items: { type: "string", pattern: conditionPattern(kind) }, maxItems: CONDITIONS_MAX },
    style: "form",
    explode: true,
    ...(value === undefined ? {} : { example: [`${EXAMPLE_OPERATORS[kind]}.${value}`] }),
  }
}

const count = (name: string, description: string, fallback: number) => ({
  name,
  in: "query",
  description,
  schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: fallback },
})

const alternatives = (names: Iterable<string>): string =>
  `(?:${[...names].map((name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|")})`

const orderDoc = (known: ReadonlyMap<string, QueryField>) => {
  const field = `${alternatives(known.keys())}(?:\\.(?:asc|desc))?`
  const [first = ID_FIELD.name] = [...known.keys()].filter((name) => name !== ID_FIELD.name)
  return {
    name: "order",
    in: "query",
    description:
      `At most ${ORDER_FIELDS_MAX} fields to sort by, each once, with \`.asc\` or \`.desc\`; then by \`id\`. ` +
      "Texts are sorted by code points; records without a value come first, or last with `.desc`",
    schema: { type: "string", pattern: `^${field}(?:,${field})*$` },
    example: `${first}.desc`,
  }
}

/** The fields to answer with. */
export const selectDoc = (schema: RecordSchema) => {
  const name = alternatives([...assignedFields(schema), ...Object.keys(schema.fields.properties)])
  return {
    name: "select",
    in: "query",
    description: "Fields to answer with; all of them when omitted",
    schema: { type: "string", pattern: `^${name}(?:,${name})*$` },
  }
}

/** The parameters of a list. */
export const listParameters = (schema: RecordSchema): ReadonlyArray<object> => {
  const known = queryFieldsOf(schema)
  const schemas: Readonly<Record<string, object>> = schema.fields.properties
  return [
    count("start", "Records to skip", 0),
    count("limit", `Page size; clamped to ${PAGE_LIMIT_MAX}`, PAGE_LIMIT_DEFAULT),
    {
      name: "after",
      in: "query",
      description:
        "Walks by cursor instead of `start`: empty for the first page, then as the `Link` header says. Records that come " +
        "and go meanwhile shift nothing",
      schema: { type: "string", maxLength: 6000, pattern: "^[A-Za-z0-9_-]*$" },
    },
    orderDoc(known),
    selectDoc(schema),
    ...[...known.values()]
      .filter(({ name }) => !LIST_PARAMETERS.has(name))
      .map((field) => filterDoc(field, schemas[field.name] ?? {})),
    {
      name: "Prefer",
      in: "header",
      description: "`count=exact` asks for `X-Total-Count`; other preferences are ignored (RFC 7240)",
      schema: { type: "string" },
      example: "count=exact",
    },
  ]
}
