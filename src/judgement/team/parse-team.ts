import { didYouMean, nearestNames } from '../../errors.ts'
import { formatFieldPath } from '../../schema/json-value.ts'
import type * as z from '../../schema/zod.ts'
import type { FieldPath, TeamProblem } from './team-problem.ts'
import { teamError, teamWarning } from './team-problem.ts'
import type { Team } from './team-schema.ts'
import { allowedKeysAt, teamSchema } from './team-schema.ts'

/*
 * Parses untrusted data as a team. Unknown keys are ignored with a warning; values of the wrong type are errors.
 * 1. The input is never modified.
 * 2. `draft` is set whenever the rest can still be checked, so that one pass reports all problems.
 */

/** Placeholder for a missing text in a draft; not a valid name. */
export const MISSING_NAME = '\u0000'
/** Prefix of a placeholder name for an entry with an invalid name; a reference may mean that entry. */
export const UNNAMED_PREFIX = 'unnamed_entry_'

export interface ParsedTeam {
  /** The team, when it matches the schema. */
  team?: Team
  /** The team without its invalid parts. */
  draft?: Team
  problems: TeamProblem[]
}

type Issue = z.core.$ZodIssue
type Data = Record<string | number, unknown>

/** Bounds the report of a hostile file. */
const MAX_PROBLEMS = 100

export function parseTeam(value: unknown): ParsedTeam {
  if (!isRecord(value)) return { problems: [teamError([], 'a team must be a map')] }
  const data = structuredClone(value)
  const keyProblems = [...protoKeyProblems(data), ...removeUnknownKeys(data)]
  const parsed = teamSchema.safeParse(data)
  if (parsed.success) {
    const isValid = keyProblems.every(({ severity }) => severity !== 'error')
    return { ...(isValid ? { team: parsed.data } : undefined), draft: parsed.data, problems: keyProblems }
  }
  const issues = flattenUnionIssues(parsed.error.issues, data)
  const problems = issues.slice(0, MAX_PROBLEMS).map((issue) => toTeamProblem(issue, data))
  for (const issue of issues) repairDraft(data, issuePath(issue))
  const repaired = teamSchema.safeParse(data)
  return { ...(repaired.success ? { draft: repaired.data } : undefined), problems: [...keyProblems, ...problems] }
}

/** The message of the schema, at the value or, when that is missing, at what should have it. */
function toTeamProblem(issue: Issue, data: Data): TeamProblem {
  const field = issuePath(issue)
  const value = valueAt(data, field)
  const message = issue.code === 'invalid_key' ? issue.issues[0]?.message : issue.message
  const known = issue.code === 'invalid_value' ? didYouMean(String(value), issue.values.map(String)) : ''
  const isMissing = value === undefined && issue.code !== 'invalid_key'
  const text = `${formatFieldPath(field)}: ${message ?? issue.message}`
  const problem = teamError(isMissing ? field.slice(0, -1) : field, text, known === '' ? undefined : known)
  return issue.code === 'invalid_key' ? { ...problem, key: true } : problem
}

function issuePath(issue: Issue): FieldPath {
  return issue.path.map((part) => (typeof part === 'number' ? part : String(part)))
}

/** The schema drops this key silently (prototype pollution), so it is reported here. */
const PROTO_KEY = '__proto__'

function protoKeyProblems(value: unknown, field: FieldPath = []): TeamProblem[] {
  if (!isObject(value)) return []
  const message = `'${PROTO_KEY}' is not allowed as a key`
  const own = Object.hasOwn(value, PROTO_KEY)
    ? [{ ...teamError([...field, PROTO_KEY], message, 'use another name'), key: true as const }]
    : []
  const entries = Object.entries(value).filter(([key]) => key !== PROTO_KEY)
  const toPart = (key: string) => (Array.isArray(value) ? Number(key) : key)
  return [...own, ...entries.flatMap(([key, entry]) => protoKeyProblems(entry, [...field, toPart(key)]))]
}

function removeUnknownKeys(data: Data): TeamProblem[] {
  const issues = flattenUnionIssues(teamSchema.safeParse(data).error?.issues ?? [], data)
  const problems = issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return []
    const field = issuePath(issue)
    const holder = valueAt(data, field)
    return issue.keys.map((key) => {
      if (isRecord(holder)) delete holder[key]
      return unknownKeyProblem(field, key)
    })
  })
  return problems.slice(0, MAX_PROBLEMS)
}

function unknownKeyProblem(field: FieldPath, key: string): TeamProblem {
  const known = nearestNames(key, allowedKeysAt(field))
  const suggestion = didYouMean(key, known)
  const hint = known[0] === undefined ? undefined : `${suggestion && `${suggestion} `}known: ${known.join(', ')}`
  return { ...teamWarning([...field, key], `unknown key '${key}' is ignored`, hint), key: true }
}

/** Replaces "neither a path nor a team" by the problems inside a sub-team. */
function flattenUnionIssues(issues: readonly Issue[], data: Data): Issue[] {
  return issues.flatMap((issue) => {
    const field = issuePath(issue)
    if (issue.code !== 'invalid_union' || field.at(-1) !== 'team' || !isRecord(valueAt(data, field))) return [issue]
    const teamIssues = issue.errors.at(-1) ?? []
    const nested = teamIssues.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }) as Issue)
    return flattenUnionIssues(nested, data)
  })
}

/** Removes the invalid field, or replaces a required one by a placeholder. */
function repairDraft(data: Data, field: FieldPath): void {
  const [list = '', index = 0, key] = field
  const entries = valueAt(data, [list])
  if (field.length < 2 || typeof index !== 'number' || !Array.isArray(entries)) {
    // Without these, every reference would look unknown: make the draft fail instead.
    if (['name', 'agents', 'groups', 'form'].includes(String(list))) data[list] = MISSING_NAME
    else if (field.length > 1 && isRecord(entries)) delete entries[index]
    else delete data[list]
    return
  }
  const placeholder = placeholderEntry(String(list), index)
  const entry: unknown = entries[index]
  if (key === undefined || !isRecord(entry)) entries[index] = placeholder
  else if (key in placeholder) entry[key] = placeholder[key]
  else delete entry[key]
}

function placeholderEntry(list: string, index: number): Data {
  if (list === 'agents') return { name: `${UNNAMED_PREFIX}${index + 1}` }
  if (list === 'handoffs') return { from_agent: MISSING_NAME, to_agent: MISSING_NAME }
  return { name: `${UNNAMED_PREFIX}${index + 1}`, kind: 'parallel', members: [MISSING_NAME] }
}

function valueAt(value: unknown, field: FieldPath): unknown {
  return field.reduce<unknown>((parent, part) => (isObject(parent) ? parent[part] : undefined), value)
}

function isRecord(value: unknown): value is Data {
  return isObject(value) && !Array.isArray(value)
}

function isObject(value: unknown): value is Data {
  return typeof value === 'object' && value !== null
}
