import type { z } from 'zod'
import { didYouMean, nearestNames } from '../../errors.ts'
import { describeValue, issuePath, toTeamProblem } from './schema-messages.ts'
import type { FieldPath, TeamProblem } from './team-problem.ts'
import { teamError, teamWarning } from './team-problem.ts'
import type { Team } from './team-schema.ts'
import { allowedKeysAt, teamSchema } from './team-schema.ts'

/*
 * Data of unknown origin as a team. Keys that are not ours are left out and reported; values of the wrong kind are errors.
 * 1. What comes in is never changed.
 * 2. `draft` is there whenever the rest can still be checked, so that one reading reports everything that is wrong.
 */

/** Stands in a draft for a text that is missing; nobody can be called like this. */
export const MISSING_NAME = '\u0000'
/** Begins the name of one whose own name is wrong: who is mentioned may be meant for it. */
export const UNNAMED_PREFIX = 'unnamed_entry_'

export interface ParsedTeam {
  /** The team, when nothing is wrong with its shape. */
  team?: Team
  /** The team with what is wrong left out. */
  draft?: Team
  problems: TeamProblem[]
}

type Issue = z.core.$ZodIssue
type Data = Record<string | number, unknown>

/** A hostile file could have a mistake in each of its million bytes. */
const MAX_PROBLEMS = 100

export function parseTeam(value: unknown): ParsedTeam {
  if (!isRecord(value)) return { problems: [teamError([], `a team is a map of keys, not ${describeValue(value)}`)] }
  const data = structuredClone(value)
  const unknown = [...protoKeyProblems(data), ...removeUnknownKeys(data)]
  const read = teamSchema.safeParse(data)
  if (read.success) {
    const whole = unknown.every(({ severity }) => severity !== 'error')
    return { ...(whole ? { team: read.data } : undefined), draft: read.data, problems: unknown }
  }
  const issues = flattenUnionIssues(read.error.issues, data)
  const problems = issues.slice(0, MAX_PROBLEMS).map((issue) => toTeamProblem(issue, valueAt(data, issuePath(issue))))
  for (const issue of issues) repairDraft(data, issuePath(issue))
  const again = teamSchema.safeParse(data)
  return { ...(again.success ? { draft: again.data } : undefined), problems: [...unknown, ...problems] }
}

/** Nobody could use such a variable: a schema passes over the key without a word. */
const PROTO_KEY = '__proto__'

function protoKeyProblems(value: unknown, field: FieldPath = []): TeamProblem[] {
  if (!isObject(value)) return []
  const own = Object.hasOwn(value, PROTO_KEY)
  const found = own
    ? [
        {
          ...teamError([...field, PROTO_KEY], `nothing can be called '${PROTO_KEY}'`, 'use another name'),
          key: true as const,
        },
      ]
    : []
  const inside = Object.entries(value).filter(([key]) => key !== PROTO_KEY)
  return [
    ...found,
    ...inside.flatMap(([key, each]) => protoKeyProblems(each, [...field, Array.isArray(value) ? Number(key) : key])),
  ]
}

function removeUnknownKeys(data: Data): TeamProblem[] {
  const issues = flattenUnionIssues(teamSchema.safeParse(data).error?.issues ?? [], data)
  const found = issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return []
    const field = issuePath(issue)
    const holder = valueAt(data, field)
    return issue.keys.map((key) => {
      if (isRecord(holder)) delete holder[key]
      return unknownKeyProblem(field, key)
    })
  })
  return found.slice(0, MAX_PROBLEMS)
}

function unknownKeyProblem(field: FieldPath, key: string): TeamProblem {
  const known = nearestNames(key, allowedKeysAt(field))
  const meant = didYouMean(key, known)
  const hint = known[0] === undefined ? undefined : `${meant === '' ? '' : `${meant} `}known: ${known.join(', ')}`
  return { ...teamWarning([...field, key], `unknown key '${key}' is left out`, hint), key: true }
}

/** What is wrong inside a sub-team, instead of "neither a path nor a team". */
function flattenUnionIssues(issues: readonly Issue[], data: Data): Issue[] {
  return issues.flatMap((issue) => {
    const field = issuePath(issue)
    if (issue.code !== 'invalid_union' || field.at(-1) !== 'team' || !isRecord(valueAt(data, field))) return [issue]
    const asTeam = issue.errors.at(-1) ?? []
    const inside = asTeam.map((each) => ({ ...each, path: [...issue.path, ...each.path] }) as Issue)
    return flattenUnionIssues(inside, data)
  })
}

/** What was wrong is left out; where something has to be, what names nothing stands for it. */
function repairDraft(data: Data, field: FieldPath): void {
  const [list = '', index = 0, key] = field
  const entries = valueAt(data, [list])
  if (field.length < 2 || typeof index !== 'number' || !Array.isArray(entries)) {
    // Without them every name would look undefined: a draft that does not parse is none.
    if (['name', 'agents', 'groups', 'form'].includes(String(list))) data[list] = MISSING_NAME
    else if (field.length > 1 && isRecord(entries)) delete entries[index]
    else delete data[list]
    return
  }
  const neutral = placeholderEntry(String(list), index)
  const entry: unknown = entries[index]
  if (key === undefined || !isRecord(entry)) entries[index] = neutral
  else if (key in neutral) entry[key] = neutral[key]
  else delete entry[key]
}

function placeholderEntry(list: string, index: number): Data {
  if (list === 'agents') return { name: `${UNNAMED_PREFIX}${index + 1}` }
  if (list === 'handoffs') return { from_agent: MISSING_NAME, to_agent: MISSING_NAME }
  return { name: `${UNNAMED_PREFIX}${index + 1}`, kind: 'parallel', members: [MISSING_NAME] }
}

export function valueAt(value: unknown, field: FieldPath): unknown {
  return field.reduce<unknown>((inside, part) => (isObject(inside) ? inside[part] : undefined), value)
}

function isRecord(value: unknown): value is Data {
  return isObject(value) && !Array.isArray(value)
}

function isObject(value: unknown): value is Data {
  return typeof value === 'object' && value !== null
}
