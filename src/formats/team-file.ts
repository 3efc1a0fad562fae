import { stat } from 'node:fs/promises'
import type { Team } from '../judgement/team/definition.ts'
import { inspectTeam } from '../judgement/team/inspect.ts'
import type { TeamProblem } from '../judgement/team/problem.ts'
import { written } from '../judgement/team/problem.ts'
import { shapeOf } from '../judgement/team/shape.ts'
import { readText } from './file-text.ts'
import { toolProblems } from './team-tools.ts'
import type { Source } from './yaml-places.ts'
import { spotOf } from './yaml-places.ts'

/** What is wrong in a team file, with the place it is wrong at; lines and columns count from 1. */
export interface TeamFileProblem {
  severity: 'error' | 'warning'
  message: string
  /** The file. */
  path: string
  /** The key in it, such as `handoffs[2].condition`; empty for the file as a whole. */
  field: string
  line: number
  column: number
  hint?: string
}

export interface ReadTeam {
  /** There whenever the team can be run: its course may still have flaws. */
  team?: Team
  problems: TeamFileProblem[]
}

export interface TeamText {
  text: string
  path: string
  /** The names that `uses` may name; absent means that they are not checked. */
  roster?: readonly string[]
}

/** A team with a function that says where its parts stand. */
export interface PlacedTeam extends ReadTeam {
  placed(problem: TeamProblem): TeamFileProblem
}

/** Reads a team from YAML text, or says at which line and column it is wrong. Sub-team files are left as paths. */
export async function readTeamText({ text, path, roster }: TeamText): Promise<PlacedTeam> {
  const yaml = await import('yaml')
  const lines = new yaml.LineCounter()
  const plain = text.replace(/^\uFEFF/, '')
  const document = yaml.parseDocument(plain, { lineCounter: lines, logLevel: 'error', merge: true })
  const source: Source = { yaml, document, lines, text: plain }
  const placed = ({ place, severity, message, hint, key, at }: TeamProblem): TeamFileProblem => ({
    ...{ severity, message, path, field: written(place) },
    ...spotOf(source, { place, ...(key && { key }), ...(at !== undefined && { at }) }),
    ...(hint === undefined ? undefined : { hint }),
  })
  const broken = document.errors.slice(0, MOST_SAID).map((error) => yamlProblem(error, path))
  if (broken.length > 0) return { problems: broken, placed }
  const read = dataOf(source, path)
  if ('problem' in read) return { problems: [read.problem], placed }
  const { team, draft, problems } = shapeOf(read.value)
  const { sound, problems: more } = draft
    ? inspectTeam(draft, { ...(roster && { roster }), draft: team === undefined })
    : { sound: false, problems: [] }
  const ofTools = draft ? toolProblems(draft) : []
  const all = inFileOrder([...problems, ...more, ...ofTools].map(placed))
  return { ...(team && sound ? { team } : undefined), problems: all, placed }
}

/** The data of a document. Anchors that multiply themselves are refused by the library. */
function dataOf({ document }: Source, path: string): { value: unknown } | { problem: TeamFileProblem } {
  if (document.contents === null) return { problem: wholeFile(path, 'the file is empty', EXAMPLE) }
  try {
    return { value: document.toJS() as unknown }
  } catch (thrown) {
    return {
      problem: wholeFile(path, `is no usable YAML: ${thrown instanceof Error ? thrown.message : String(thrown)}`),
    }
  }
}

/** After the first errors of a broken text the others are mostly their echo. */
const MOST_SAID = 10

const EXAMPLE = 'a team begins with name: and agents:'

export function wholeFile(path: string, message: string, hint?: string): TeamFileProblem {
  const place = { path, field: '', line: 1, column: 1 }
  return { severity: 'error', message, ...place, ...(hint === undefined ? undefined : { hint }) }
}

type YamlError = { message: string; code: string; linePos?: [{ line: number; col: number }, ...unknown[]] }

function yamlProblem(error: YamlError, path: string): TeamFileProblem {
  const [first = ''] = error.message.split(/ at line \d/)
  const said = first.includes('call stack') ? 'it is nested too deep' : first
  const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 }
  const hint = HINTS[error.code]
  return {
    ...{ severity: 'error', message: `is not valid YAML: ${said.trim().replace(/[:.]$/, '')}`, path },
    ...{ field: '', line, column: col, ...(hint === undefined ? undefined : { hint }) },
  }
}

const QUOTES = 'text with : or # in it, or with { or [ at its beginning, has to stand in quotes'
const HINTS: Readonly<Record<string, string>> = {
  BAD_INDENT: 'keys of one map stand in the same column',
  BLOCK_AS_IMPLICIT_KEY: QUOTES,
  DUPLICATE_KEY: 'a key can be written once',
  MULTIPLE_DOCS: 'one file holds one team',
  TAB_AS_INDENT: 'indent with blanks',
  UNEXPECTED_TOKEN: QUOTES,
}

function inFileOrder(problems: readonly TeamFileProblem[]): TeamFileProblem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
}

/** The text of a file that may hold a team. */
export async function teamText(path: string): Promise<{ text: string } | { problem: TeamFileProblem }> {
  try {
    if ((await stat(path)).isDirectory()) return { problem: wholeFile(path, 'is a folder, not a team file') }
    const read = await readText(path, () => true)
    if (read === undefined) return { problem: wholeFile(path, 'is no text file') }
    if (read === 'too large') return { problem: wholeFile(path, 'is too large for a team file (1 MB)') }
    if (!read.valid) return { problem: wholeFile(path, 'is not written in UTF-8') }
    return { text: read.text }
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code
    const why = code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code ?? String(thrown)})`
    return { problem: wholeFile(path, why) }
  }
}
