import { stat } from 'node:fs/promises'
import { parseTeam } from '../judgement/team/parse-team.ts'
import type { TeamProblem } from '../judgement/team/team-problem.ts'
import { formatFieldPath } from '../judgement/team/team-problem.ts'
import type { Team } from '../judgement/team/team-schema.ts'
import { validateTeam } from '../judgement/team/validate-team.ts'
import { readTextFile } from './file-text.ts'
import { toolProblems } from './team-tools.ts'
import type { YamlSource } from './yaml-positions.ts'
import { findYamlPosition } from './yaml-positions.ts'

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

export interface TeamFileResult {
  /** There whenever the team can be run: its course may still have flaws. */
  team?: Team
  problems: TeamFileProblem[]
}

export interface TeamTextInput {
  text: string
  path: string
  /** The names that `uses` may name; absent means that they are not checked. */
  roster?: readonly string[]
}

/** A team with a function that says where its parts stand. */
export interface LocatedTeam extends TeamFileResult {
  locate(problem: TeamProblem): TeamFileProblem
}

/** Reads a team from YAML text, or says at which line and column it is wrong. Sub-team files are left as paths. */
export async function parseTeamText({ text, path, roster }: TeamTextInput): Promise<LocatedTeam> {
  const yaml = await import('yaml')
  const lines = new yaml.LineCounter()
  const plain = text.replace(/^\uFEFF/, '')
  const document = yaml.parseDocument(plain, { lineCounter: lines, logLevel: 'error', merge: true })
  const source: YamlSource = { yaml, document, lines, text: plain }
  const locate = ({ field, severity, message, hint, key, offset }: TeamProblem): TeamFileProblem => ({
    ...{ severity, message, path, field: formatFieldPath(field) },
    ...findYamlPosition(source, { place: field, ...(key && { key }), ...(offset !== undefined && { at: offset }) }),
    ...(hint === undefined ? undefined : { hint }),
  })
  const broken = document.errors.slice(0, MAX_YAML_ERRORS).map((error) => yamlProblem(error, path))
  if (broken.length > 0) return { problems: broken, locate }
  const read = documentData(source, path)
  if ('problem' in read) return { problems: [read.problem], locate }
  const { team, draft, problems } = parseTeam(read.value)
  const { runnable, problems: more } = draft
    ? validateTeam(draft, { ...(roster && { roster }), draft: team === undefined })
    : { runnable: false, problems: [] }
  const ofTools = draft ? toolProblems(draft) : []
  const all = sortByPosition([...problems, ...more, ...ofTools].map(locate))
  return { ...(team && runnable ? { team } : undefined), problems: all, locate }
}

/** The data of a document. Anchors that multiply themselves are refused by the library. */
function documentData({ document }: YamlSource, path: string): { value: unknown } | { problem: TeamFileProblem } {
  if (document.contents === null) return { problem: wholeFileProblem(path, 'the file is empty', EMPTY_FILE_HINT) }
  try {
    return { value: document.toJS() as unknown }
  } catch (thrown) {
    return {
      problem: wholeFileProblem(
        path,
        `is no usable YAML: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
      ),
    }
  }
}

/** After the first errors of a broken text the others are mostly their echo. */
const MAX_YAML_ERRORS = 10

const EMPTY_FILE_HINT = 'a team begins with name: and agents:'

export function wholeFileProblem(path: string, message: string, hint?: string): TeamFileProblem {
  const place = { path, field: '', line: 1, column: 1 }
  return { severity: 'error', message, ...place, ...(hint === undefined ? undefined : { hint }) }
}

type YamlError = { message: string; code: string; linePos?: [{ line: number; col: number }, ...unknown[]] }

function yamlProblem(error: YamlError, path: string): TeamFileProblem {
  const [first = ''] = error.message.split(/ at line \d/)
  const said = first.includes('call stack') ? 'it is nested too deep' : first
  const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 }
  const hint = YAML_ERROR_HINTS[error.code]
  return {
    ...{ severity: 'error', message: `is not valid YAML: ${said.trim().replace(/[:.]$/, '')}`, path },
    ...{ field: '', line, column: col, ...(hint === undefined ? undefined : { hint }) },
  }
}

const QUOTES_HINT = 'text with : or # in it, or with { or [ at its beginning, has to stand in quotes'
const YAML_ERROR_HINTS: Readonly<Record<string, string>> = {
  BAD_INDENT: 'keys of one map stand in the same column',
  BLOCK_AS_IMPLICIT_KEY: QUOTES_HINT,
  DUPLICATE_KEY: 'a key can be written once',
  MULTIPLE_DOCS: 'one file holds one team',
  TAB_AS_INDENT: 'indent with blanks',
  UNEXPECTED_TOKEN: QUOTES_HINT,
}

function sortByPosition(problems: readonly TeamFileProblem[]): TeamFileProblem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
}

/** The text of a file that may hold a team. */
export async function readTeamText(path: string): Promise<{ text: string } | { problem: TeamFileProblem }> {
  try {
    if ((await stat(path)).isDirectory()) return { problem: wholeFileProblem(path, 'is a folder, not a team file') }
    const read = await readTextFile(path, () => true)
    if (read === undefined) return { problem: wholeFileProblem(path, 'is no text file') }
    if (read === 'too large') return { problem: wholeFileProblem(path, 'is too large for a team file (1 MB)') }
    if (!read.isValidUtf8) return { problem: wholeFileProblem(path, 'is not written in UTF-8') }
    return { text: read.text }
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code
    const why = code === 'ENOENT' ? 'there is no such file' : `cannot be read (${code ?? String(thrown)})`
    return { problem: wholeFileProblem(path, why) }
  }
}
