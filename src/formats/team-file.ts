import { stat } from 'node:fs/promises'
import { parseTeam } from '../judgement/team/parse-team.ts'
import type { TeamProblem } from '../judgement/team/team-problem.ts'
import type { Team } from '../judgement/team/team-schema.ts'
import { validateTeam } from '../judgement/team/validate-team.ts'
import { formatFieldPath } from '../schema/json-value.ts'
import { readTextFile } from './file-text.ts'
import { toolProblems } from './team-tools.ts'
import { safeYamlOptions, yamlErrorReason } from './yaml-limits.ts'
import type { YamlSource } from './yaml-positions.ts'
import { findYamlPosition } from './yaml-positions.ts'

/** A problem in a team file with its position; lines and columns start at 1. */
export interface TeamFileProblem {
  severity: 'error' | 'warning'
  message: string
  /** Path of the file. */
  path: string
  /** Path of the key in the file, such as `handoffs[2].condition`; empty for the whole file. */
  field: string
  line: number
  column: number
  hint?: string
}

export interface TeamFileResult {
  /** Set when the team can be run, even if it has warnings. */
  team?: Team
  problems: TeamFileProblem[]
  /** The files that were read, by their real paths, and the path of the first one as it was given, which may be a symlink. */
  files?: string[]
}

export interface TeamTextInput {
  text: string
  path: string
  /** Agent names that `uses` may refer to; when absent, `uses` is not checked. */
  roster?: readonly string[]
}

/** A team with a function that adds file positions to problems. */
export interface LocatedTeam extends TeamFileResult {
  locate(problem: TeamProblem): TeamFileProblem
}

/** Parses and validates a team from YAML text. Sub-team files stay paths. */
export async function parseTeamText({ text, path, roster }: TeamTextInput): Promise<LocatedTeam> {
  const yaml = await import('yaml')
  const lines = new yaml.LineCounter()
  const content = text.replace(/^\uFEFF/, '')
  const document = yaml.parseDocument(content, {
    ...{ lineCounter: lines, logLevel: 'error' },
    ...safeYamlOptions(),
  })
  const source: YamlSource = { yaml, document, lines, text: content }
  const locate = ({ field, severity, message, hint, key, offset }: TeamProblem): TeamFileProblem => ({
    ...{ severity, message, path, field: formatFieldPath(field) },
    ...findYamlPosition(source, { path: field, ...(key && { key }), ...(offset !== undefined && { offset }) }),
    ...(hint === undefined ? undefined : { hint }),
  })
  const yamlProblems = document.errors.slice(0, MAX_YAML_ERRORS).map((error) => yamlProblem(error, path))
  if (yamlProblems.length > 0) return { problems: yamlProblems, locate }
  const data = documentData(source, path)
  if ('problem' in data) return { problems: [data.problem], locate }
  const { team, draft, problems: schemaProblems } = parseTeam(data.value)
  const validation = draft
    ? validateTeam(draft, { ...(roster && { roster }), draft: team === undefined })
    : { runnable: false, problems: [] }
  const unknownTools = draft ? toolProblems(draft) : []
  const problems = sortByPosition([...schemaProblems, ...validation.problems, ...unknownTools].map(locate))
  return { ...(team && validation.runnable ? { team } : undefined), problems, locate }
}

/** The data of a document. The library rejects alias bombs ("billion laughs"). */
function documentData({ document }: YamlSource, path: string): { value: unknown } | { problem: TeamFileProblem } {
  if (document.contents === null) return { problem: wholeFileProblem(path, 'the file is empty', EMPTY_FILE_HINT) }
  try {
    return { value: document.toJS() as unknown }
  } catch (thrown) {
    return {
      problem: wholeFileProblem(path, `invalid YAML: ${thrown instanceof Error ? thrown.message : String(thrown)}`),
    }
  }
}

/** Later YAML errors mostly follow from the first ones. */
const MAX_YAML_ERRORS = 10

const EMPTY_FILE_HINT = 'start the team with name: and agents:'

export function wholeFileProblem(path: string, message: string, hint?: string): TeamFileProblem {
  const position = { path, field: '', line: 1, column: 1 }
  return { severity: 'error', message, ...position, ...(hint === undefined ? undefined : { hint }) }
}

type YamlError = { message: string; code: string; linePos?: [{ line: number; col: number }, ...unknown[]] }

function yamlProblem(error: YamlError, path: string): TeamFileProblem {
  const { line, col } = error.linePos?.[0] ?? { line: 1, col: 1 }
  const hint = YAML_ERROR_HINTS[error.code]
  return {
    ...{ severity: 'error', message: `invalid YAML: ${yamlErrorReason(error)}`, path },
    ...{ field: '', line, column: col, ...(hint === undefined ? undefined : { hint }) },
  }
}

const QUOTES_HINT = 'quote text that contains : or #, or starts with { or ['
const YAML_ERROR_HINTS: Readonly<Record<string, string>> = {
  BAD_INDENT: 'start all keys of a map in the same column',
  BLOCK_AS_IMPLICIT_KEY: QUOTES_HINT,
  NON_STRING_KEY: 'put text that begins with { or [ in quotes',
  DUPLICATE_KEY: 'remove the duplicate key',
  MULTIPLE_DOCS: 'use one file per team',
  TAB_AS_INDENT: 'indent with spaces',
  UNEXPECTED_TOKEN: QUOTES_HINT,
}

function sortByPosition(problems: readonly TeamFileProblem[]): TeamFileProblem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
}

/** Reads the text of a team file, or reports why it cannot be read. */
export async function readTeamText(path: string): Promise<{ text: string } | { problem: TeamFileProblem }> {
  try {
    if ((await stat(path)).isDirectory()) return { problem: wholeFileProblem(path, 'is a folder, not a team file') }
    const content = await readTextFile(path, () => true)
    if (content === undefined) return { problem: wholeFileProblem(path, 'is not a text file') }
    if (content === 'too large')
      return { problem: wholeFileProblem(path, 'is larger than 1 MB, the limit for a team file') }
    if (!content.isValidUtf8) return { problem: wholeFileProblem(path, 'is not valid UTF-8') }
    return { text: content.text }
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code
    const reason = code === 'ENOENT' ? 'no such file' : `cannot be read (${code ?? String(thrown)})`
    return { problem: wholeFileProblem(path, reason) }
  }
}
