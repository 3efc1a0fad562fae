type Schema = {
  type?: string | string[]
  description?: string
  default?: unknown
  enum?: string[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  required?: string[]
  $ref?: string
}

const INTRODUCTION = `# Team file reference

Every key of a team file, in YAML or JSON. Generated from the schema by
\`UPDATE_SURFACE=1 npx vitest run test/team-file-reference.test.ts\`; do not edit. [Teams](../guide/team.md) explains how a team works;
\`troupe team check FILE\` checks a file, and editors can use \`schemas/team.schema.json\`.
`

/** A Markdown page with a table of keys for each object of a team file. */
export function teamFileReference(schema: object): string {
  return [INTRODUCTION, ...objectSections('team', schema as Schema)].join('\n')
}

/** The section of an object, and those of the objects in it. */
function objectSections(path: string, schema: Schema): string[] {
  const entries = Object.entries(schema.properties ?? {})
  const rows = entries.map(([key, value]) => keyRow(key, value, schema.required?.includes(key) === true))
  const own = [`## ${path}`, '', '| key | value | default | meaning |', '|---|---|---|---|', ...rows, ''].join('\n')
  const prefix = path === 'team' ? '' : `${path}.`
  const inner = entries.flatMap(([key, value]) => {
    const object = value.items ?? value
    return object.properties ? objectSections(`${prefix}${key}${value.items ? '[]' : ''}`, object) : []
  })
  return [own, ...inner]
}

function keyRow(key: string, schema: Schema, required: boolean): string {
  const fallback = required ? 'required' : defaultText(schema)
  return `| \`${key}\` | ${valueText(schema)} | ${fallback} | ${schema.description ?? ''} |`
}

/** Defaults of lists and objects are empty, or are the defaults of their keys. */
function defaultText({ default: value }: Schema): string {
  return value === undefined || typeof value === 'object' ? '' : `\`${value}\``
}

function valueText({ type, enum: values, anyOf, items, properties, additionalProperties, $ref }: Schema): string {
  if ($ref) return 'team'
  if (values) return values.map((value) => `\`${value}\``).join(', ')
  if (anyOf) return anyOf.map(valueText).join(' or ')
  if (items) return items.properties ? 'list of objects' : `list of ${valueText(items)}`
  if (properties) return 'object'
  if (typeof additionalProperties === 'object') return `names to ${valueText(additionalProperties)}`
  if (Array.isArray(type)) return type.join(' or ')
  return type === 'integer' ? 'whole number' : (type ?? '')
}
