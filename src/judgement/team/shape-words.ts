import type { z } from 'zod'
import { nearest } from '../../errors.ts'
import type { Place, TeamProblem } from './problem.ts'
import { error } from './problem.ts'

type Issue = z.core.$ZodIssue

/** What a schema says about a value, in the words of people who write team files. */
export function inWords(issue: Issue, value: unknown): TeamProblem {
  const place = placeOf(issue)
  const label = labelOf(place)
  if (issue.code === 'invalid_key') {
    return { ...error(place, `'${place.at(-1)}' ${issue.issues[0]?.message ?? 'is no key'}`), key: true }
  }
  if (value === undefined) return error(place.slice(0, -1), `${label} is missing`)
  if (value === null) return error(place, `${label} is empty`)
  if (issue.code === 'invalid_value') return wrongChoice(issue, value)
  if (issue.code === 'invalid_format') return error(place, `${shown(value)} ${issue.message}`)
  if (issue.code === 'too_small' || issue.code === 'too_big') return error(place, `${label} ${sizeOf(issue)}`)
  const expected = expectedOf(issue)
  if (expected === undefined) return error(place, `${label}: ${issue.message}`)
  return error(place, `${label} has to be ${expected}, not ${kindOf(value)}`, quoting(issue, value))
}

export function placeOf(issue: Issue): Place {
  return issue.path.map((part) => (typeof part === 'number' ? part : String(part)))
}

function labelOf(place: Place): string {
  const key = place.at(-1)
  if (key === undefined) return 'the team'
  return typeof key === 'number' ? `entry ${key + 1} of '${place.at(-2)}'` : `'${key}'`
}

function wrongChoice(issue: Issue & { code: 'invalid_value' }, value: unknown): TeamProblem {
  const place = placeOf(issue)
  const values = issue.values.map(String)
  const [first] = typeof value === 'string' ? nearest(value, alike(value, values)) : []
  const known = `known: ${values.join(', ')}`
  const hint = first === undefined ? known : `did you mean '${first}'? ${known}`
  return error(place, `${labelOf(place)} cannot be ${shown(value)}`, hint)
}

/** Those that begin alike, if there are any: a long word is further from its beginning than from another short word. */
function alike(value: string, values: readonly string[]): readonly string[] {
  const beginning = value.slice(0, 2).toLowerCase()
  const found = values.filter((each) => each.startsWith(beginning))
  return found.length > 0 ? found : values
}

function quoting(issue: Issue, value: unknown): string | undefined {
  if (issue.code !== 'invalid_type' || issue.expected !== 'string') return undefined
  if (typeof value === 'number' || typeof value === 'boolean') return `write it in quotes: "${value}"`
  return typeof value === 'object' ? 'a text that begins with { or [ has to stand in quotes' : undefined
}

function sizeOf(issue: Issue & { code: 'too_small' | 'too_big' }): string {
  if (issue.code === 'too_small') {
    if (issue.origin !== 'number' && issue.origin !== 'int') return 'is empty'
    return `has to be ${issue.inclusive ? 'at least' : 'above'} ${issue.minimum}`
  }
  if (issue.origin === 'string') return `is longer than ${issue.maximum} characters`
  return `has to be ${issue.inclusive ? 'at most' : 'below'} ${issue.maximum}`
}

const WORDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
}

function expectedOf(issue: Issue): string | undefined {
  if (issue.code === 'invalid_type') return WORDS[issue.expected] ?? issue.expected
  if (issue.code !== 'invalid_union') return undefined
  return issue.path.at(-1) === 'team' ? 'the path of a team file or a team' : 'a number, text, true or false'
}

export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map'
  return typeof value === 'string' ? `the text ${shown(value)}` : String(value)
}

function shown(value: unknown): string {
  if (typeof value !== 'string') return kindOf(value)
  const line = value.replaceAll(/\s+/g, ' ')
  return `'${line.length > 60 ? `${line.slice(0, 60)}…` : line}'`
}
