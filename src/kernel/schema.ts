import { z } from 'zod'

export type JsonSchema = { [key: string]: unknown }

const schemaCache = new WeakMap<z.ZodType, JsonSchema>()

/** The JSON Schema of a zod schema, memoised. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  let json = schemaCache.get(schema)
  if (!json) {
    json = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema
    schemaCache.set(schema, json)
  }
  return json
}

/** Overrides the JSON Schema of a zod schema, e.g. with the one that an MCP server declares. */
export function withJsonSchema<T extends z.ZodType>(schema: T, json: JsonSchema): T {
  schemaCache.set(schema, json)
  return schema
}

/** Formats validation issues as one line of `path: problem`. */
export function formatIssues(error: z.ZodError): string {
  return error.issues
    .flatMap((issue) => innermostIssues(issue, []))
    .slice(0, 5)
    .map(formatIssue)
    .join('; ')
}

type IssueLocation = Pick<z.core.$ZodIssue, 'path' | 'message'>

/** Issues of a union: those of the branch that matches in part, or else only that no branch matches. */
function innermostIssues(issue: z.core.$ZodIssue, outer: readonly PropertyKey[]): IssueLocation[] {
  const path = [...outer, ...issue.path]
  const nearest =
    issue.code === 'invalid_union'
      ? issue.errors.find((inner) =>
          inner.every(({ path: innerPath, code }) => innerPath.length > 0 || code === 'unrecognized_keys'),
        )
      : undefined
  return nearest ? nearest.flatMap((inner) => innermostIssues(inner, path)) : [{ path, message: issue.message }]
}

function formatIssue({ path, message }: IssueLocation): string {
  const field = path.map(String).join('.')
  if (field !== '' && message.endsWith('received undefined')) return `${field} is missing`
  return field === '' ? message : `${field}: ${message}`
}
