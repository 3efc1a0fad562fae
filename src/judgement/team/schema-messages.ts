import { nearestNames } from '../../errors.ts'
import type * as z from '../../schema/zod.ts'
import type { FieldPath, TeamProblem } from './team-problem.ts'
import { teamError } from './team-problem.ts'

type Issue = z.core.$ZodIssue

/** Converts a schema issue into a message for authors of team files. */
export function toTeamProblem(issue: Issue, value: unknown): TeamProblem {
  const field = issuePath(issue)
  const label = describePath(field)
  if (issue.code === 'invalid_key') {
    return { ...teamError(field, `'${field.at(-1)}' ${issue.issues[0]?.message ?? 'is not a valid key'}`), key: true }
  }
  if (value === undefined) return teamError(field.slice(0, -1), `${label} is missing`)
  if (value === null) return teamError(field, `${label} is empty`)
  if (issue.code === 'invalid_value') return invalidChoiceProblem(issue, value)
  if (issue.code === 'invalid_format') return teamError(field, `${formatExcerpt(value)} ${issue.message}`)
  if (issue.code === 'too_small' || issue.code === 'too_big') return teamError(field, `${label} ${describeSize(issue)}`)
  const expected = describeExpected(issue)
  if (expected === undefined) return teamError(field, `${label}: ${issue.message}`)
  return teamError(field, `${label} must be ${expected}, not ${describeValue(value)}`, quotingHint(issue, value))
}

export function issuePath(issue: Issue): FieldPath {
  return issue.path.map((part) => (typeof part === 'number' ? part : String(part)))
}

function describePath(field: FieldPath): string {
  const key = field.at(-1)
  if (key === undefined) return 'the team'
  return typeof key === 'number' ? `entry ${key + 1} of '${field.at(-2)}'` : `'${key}'`
}

function invalidChoiceProblem(issue: Issue & { code: 'invalid_value' }, value: unknown): TeamProblem {
  const field = issuePath(issue)
  const values = issue.values.map(String)
  const [first] = typeof value === 'string' ? nearestNames(value, withSamePrefix(value, values)) : []
  const known = `known: ${values.join(', ')}`
  const hint = first === undefined ? known : `did you mean '${first}'? ${known}`
  return teamError(field, `${describePath(field)} cannot be ${formatExcerpt(value)}`, hint)
}

/** Prefers values with the same prefix: edit distance alone favours short words. */
function withSamePrefix(value: string, values: readonly string[]): readonly string[] {
  const prefix = value.slice(0, 2).toLowerCase()
  const matching = values.filter((candidate) => candidate.startsWith(prefix))
  return matching.length > 0 ? matching : values
}

function quotingHint(issue: Issue, value: unknown): string | undefined {
  if (issue.code !== 'invalid_type' || issue.expected !== 'string') return undefined
  if (typeof value === 'number' || typeof value === 'boolean') return `write it in quotes: "${value}"`
  return typeof value === 'object' ? 'put text that begins with { or [ in quotes' : undefined
}

function describeSize(issue: Issue & { code: 'too_small' | 'too_big' }): string {
  if (issue.code === 'too_small') {
    if (issue.origin !== 'number' && issue.origin !== 'int') return 'is empty'
    return `must be ${issue.inclusive ? 'at least' : 'above'} ${issue.minimum}`
  }
  if (issue.origin === 'string') return `is longer than ${issue.maximum} characters`
  return `must be ${issue.inclusive ? 'at most' : 'below'} ${issue.maximum}`
}

const TYPE_LABELS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
}

function describeExpected(issue: Issue): string | undefined {
  if (issue.code === 'invalid_type') return TYPE_LABELS[issue.expected] ?? issue.expected
  if (issue.code !== 'invalid_union') return undefined
  return issue.path.at(-1) === 'team' ? 'the path of a team file or a team' : 'a number, text, true or false'
}

export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map'
  return typeof value === 'string' ? `the text ${formatExcerpt(value)}` : String(value)
}

function formatExcerpt(value: unknown): string {
  if (typeof value !== 'string') return describeValue(value)
  const line = value.replaceAll(/\s+/g, ' ')
  return `'${line.length > 60 ? `${line.slice(0, 60)}…` : line}'`
}
