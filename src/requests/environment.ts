import { escapeTemplateMarks } from '../kernel/template-marks.ts'

/*
 * The `<environment>` section at the end of a system prompt: where an agent works.
 * 1. It is recorded with `session:open`, so that every request of a session has the same bytes in every process.
 * 2. Names of folders and branches are untrusted (prompt injection): they are quoted, on one line and bounded, and cannot close the section.
 */

export interface Environment {
  folder: string
  platform: string
  /** Milliseconds since the epoch. Only the day is told: a time of day would change the prompt in each session. */
  now: number
  /** The branch or commit that is checked out; `undefined` without a repository. */
  head?: string | undefined
}

const MAX_FOLDER_CHARACTERS = 500
const MAX_HEAD_CHARACTERS = 100

/** The section with a line for each fact. */
export function formatEnvironment({ folder, platform, now, head }: Environment): string {
  const lines = [
    `Folder: ${quoteLine(folder, MAX_FOLDER_CHARACTERS)}`,
    `Platform: ${platform}`,
    `Date: ${new Date(now).toISOString().slice(0, 10)} (UTC)`,
    `Git: ${head === undefined ? 'no repository' : quoteLine(head, MAX_HEAD_CHARACTERS)}`,
  ]
  return `<environment>\n${lines.join('\n')}\n</environment>`
}

const SECTION =
  /(?:\n\n)?<environment>\nFolder: ".*"…?\nPlatform: \w+\nDate: [\d-]+ \(UTC\)\nGit: (?:no repository|".*"…?)\n<\/environment>/g

/** The text without such a section, for comparing requests of other days and folders. */
export function withoutEnvironment(text: string): string {
  return text.replace(SECTION, '')
}

/** The text as a JSON string without characters that could end the line or begin a tag. */
function quoteLine(text: string, maxCharacters: number): string {
  const cut = text.slice(0, maxCharacters)
  const quoted = JSON.stringify(escapeTemplateMarks(cut)).replace(
    /[<>\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
  return cut.length < text.length ? `${quoted}…` : quoted
}
