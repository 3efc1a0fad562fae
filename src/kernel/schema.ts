import { z } from 'zod'

export type JsonSchema = { [key: string]: unknown }

const schemaCache = new WeakMap<z.ZodType, JsonSchema>()

/** The JSON Schema of a zod schema, made once. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  let json = schemaCache.get(schema)
  if (!json) {
    json = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema
    schemaCache.set(schema, json)
  }
  return json
}

/** Shows this JSON Schema instead of the one that the zod schema would give: for inputs whose schema is somebody else's. */
export function withJsonSchema<T extends z.ZodType>(schema: T, json: JsonSchema): T {
  schemaCache.set(schema, json)
  return schema
}

/** Where and why an input does not fit, in one line that a person or a model can act on. */
export function formatIssues(error: z.ZodError): string {
  return error.issues
    .flatMap((issue) => innermostIssues(issue, []))
    .slice(0, 5)
    .map(formatIssue)
    .join('; ')
}

type IssueLocation = Pick<z.core.$ZodIssue, 'path' | 'message'>

/** What fits none of several forms is told by the form that it comes nearest to: that of which some of it fits. */
function innermostIssues(issue: z.core.$ZodIssue, outer: readonly PropertyKey[]): IssueLocation[] {
  const path = [...outer, ...issue.path]
  const near =
    issue.code === 'invalid_union'
      ? issue.errors.find((inner) => inner.every(({ path: at, code }) => at.length > 0 || code === 'unrecognized_keys'))
      : undefined
  return near ? near.flatMap((inner) => innermostIssues(inner, path)) : [{ path, message: issue.message }]
}

function formatIssue({ path, message }: IssueLocation): string {
  const where = path.map(String).join('.')
  if (where !== '' && message.endsWith('received undefined')) return `${where} is missing`
  return where === '' ? message : `${where}: ${message}`
}
