import type { z } from 'zod'
import { didYouMean, nearest } from '../../errors.ts'
import type { Team } from './definition.ts'
import { keysAt, teamSchema } from './definition.ts'
import type { Place, TeamProblem } from './problem.ts'
import { error, warning } from './problem.ts'
import { inWords, kindOf, placeOf } from './shape-words.ts'

/*
 * Data of unknown origin as a team. Keys that are not ours are left out and reported; values of the wrong kind are errors.
 * 1. What comes in is never changed.
 * 2. `draft` is there whenever the rest can still be checked, so that one reading reports everything that is wrong.
 */

/** Stands in a draft for a text that is missing; nobody can be called like this. */
export const MISSING = '\u0000'
/** Begins the name of one whose own name is wrong: who is mentioned may be meant for it. */
export const UNNAMED = 'unnamed_entry_'

export interface Shape {
  /** The team, when nothing is wrong with its shape. */
  team?: Team
  /** The team with what is wrong left out. */
  draft?: Team
  problems: TeamProblem[]
}

type Issue = z.core.$ZodIssue
type Data = Record<string | number, unknown>

/** A hostile file could have a mistake in each of its million bytes. */
const MOST_PROBLEMS = 100

export function shapeOf(value: unknown): Shape {
  if (!isMap(value)) return { problems: [error([], `a team is a map of keys, not ${kindOf(value)}`)] }
  const data = structuredClone(value)
  const unknown = [...hiddenKeys(data), ...withoutUnknownKeys(data)]
  const read = teamSchema.safeParse(data)
  if (read.success) {
    const whole = unknown.every(({ severity }) => severity !== 'error')
    return { ...(whole ? { team: read.data } : undefined), draft: read.data, problems: unknown }
  }
  const issues = flattened(read.error.issues, data)
  const problems = issues.slice(0, MOST_PROBLEMS).map((issue) => inWords(issue, valueAt(data, placeOf(issue))))
  for (const issue of issues) mend(data, placeOf(issue))
  const again = teamSchema.safeParse(data)
  return { ...(again.success ? { draft: again.data } : undefined), problems: [...unknown, ...problems] }
}

/** Nobody could use such a variable: a schema passes over the key without a word. */
const HIDDEN = '__proto__'

function hiddenKeys(value: unknown, place: Place = []): TeamProblem[] {
  if (!isHolder(value)) return []
  const own = Object.hasOwn(value, HIDDEN)
  const found = own
    ? [{ ...error([...place, HIDDEN], `nothing can be called '${HIDDEN}'`, 'use another name'), key: true as const }]
    : []
  const inside = Object.entries(value).filter(([key]) => key !== HIDDEN)
  return [
    ...found,
    ...inside.flatMap(([key, each]) => hiddenKeys(each, [...place, Array.isArray(value) ? Number(key) : key])),
  ]
}

function withoutUnknownKeys(data: Data): TeamProblem[] {
  const issues = flattened(teamSchema.safeParse(data).error?.issues ?? [], data)
  const found = issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return []
    const place = placeOf(issue)
    const holder = valueAt(data, place)
    return issue.keys.map((key) => {
      if (isMap(holder)) delete holder[key]
      return unknownKey(place, key)
    })
  })
  return found.slice(0, MOST_PROBLEMS)
}

function unknownKey(place: Place, key: string): TeamProblem {
  const known = nearest(key, keysAt(place))
  const meant = didYouMean(key, known)
  const hint = known[0] === undefined ? undefined : `${meant === '' ? '' : `${meant} `}known: ${known.join(', ')}`
  return { ...warning([...place, key], `unknown key '${key}' is left out`, hint), key: true }
}

/** What is wrong inside a sub-team, instead of "neither a path nor a team". */
function flattened(issues: readonly Issue[], data: Data): Issue[] {
  return issues.flatMap((issue) => {
    const place = placeOf(issue)
    if (issue.code !== 'invalid_union' || place.at(-1) !== 'team' || !isMap(valueAt(data, place))) return [issue]
    const asTeam = issue.errors.at(-1) ?? []
    const inside = asTeam.map((each) => ({ ...each, path: [...issue.path, ...each.path] }) as Issue)
    return flattened(inside, data)
  })
}

/** What was wrong is left out; where something has to be, what names nothing stands for it. */
function mend(data: Data, place: Place): void {
  const [list = '', index = 0, key] = place
  const entries = valueAt(data, [list])
  if (place.length < 2 || typeof index !== 'number' || !Array.isArray(entries)) {
    // Without them every name would look undefined: a draft that does not parse is none.
    if (['name', 'agents', 'groups', 'form'].includes(String(list))) data[list] = MISSING
    else if (place.length > 1 && isMap(entries)) delete entries[index]
    else delete data[list]
    return
  }
  const neutral = neutralEntry(String(list), index)
  const entry: unknown = entries[index]
  if (key === undefined || !isMap(entry)) entries[index] = neutral
  else if (key in neutral) entry[key] = neutral[key]
  else delete entry[key]
}

function neutralEntry(list: string, index: number): Data {
  if (list === 'agents') return { name: `${UNNAMED}${index + 1}` }
  if (list === 'handoffs') return { from_agent: MISSING, to_agent: MISSING }
  return { name: `${UNNAMED}${index + 1}`, kind: 'parallel', members: [MISSING] }
}

export function valueAt(value: unknown, place: Place): unknown {
  return place.reduce<unknown>((inside, part) => (isHolder(inside) ? inside[part] : undefined), value)
}

function isMap(value: unknown): value is Data {
  return isHolder(value) && !Array.isArray(value)
}

function isHolder(value: unknown): value is Data {
  return typeof value === 'object' && value !== null
}
