import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import type { FileHashes, TrustChanges } from '../../formats/folder-trust.ts'
import { unifiedDiff } from '../../judgement/diff/unified-diff.ts'
import type { Terminal } from './terminal.ts'
import { noteWrapped } from './terminal.ts'

export interface TrustQuestion {
  folder: string
  files: FileHashes
  changes: TrustChanges
  /** A store in the folder that this installation has not created. */
  foreignStore?: string | undefined
  /** After a no, nothing is executed. */
  stops: boolean
}

/** Asks on the terminal whether the files of a folder may be used. Changed ones are shown as a diff to what was trusted. */
export async function askForTrust(terminal: Terminal, question: TrustQuestion): Promise<boolean> {
  const { folder, changes, foreignStore } = question
  const title = changes.wasTrusted
    ? `The configuration of ${visibleLine(folder)} has changed since you trusted it:`
    : `${visibleLine(folder)} has configuration or agent files that you have not used before:`
  noteWrapped(terminal, title)
  if (changes.wasTrusted) await showChanges(terminal, question)
  else for (const name of changes.added) noteWrapped(terminal, `  ${visibleLine(name)}`)
  if (foreignStore !== undefined) noteWrapped(terminal, `  ${visibleLine(foreignStore)}  ${FOREIGN_STORE}`)
  for (const path of packageFolders(question)) noteWrapped(terminal, `  ${visibleLine(path)}  ${PACKAGES}`)
  noteWrapped(
    terminal,
    'A configuration can run code on this machine, start servers and allow tool calls without asking; an agent file instructs agents, gives them tools and can replace a built-in agent.',
  )
  noteWrapped(
    terminal,
    question.stops
      ? 'No: nothing is executed.'
      : 'No: go on without these files, also without the limits, hooks and deny rules in them.',
  )
  return confirm('Trust it? [y/N] ')
}

/**
 * The folders that Node looks for packages in: beside each file of code and in all folders above. A repository can contain `node_modules`: a
 * harmless import would then execute what its author put there.
 */
export function packageFolders({ folder, files }: Pick<TrustQuestion, 'folder' | 'files'>): string[] {
  const places = new Set<string>()
  for (const name of Object.keys(files).filter((each) => /\.[cm]?[jt]sx?$/.test(each)))
    for (let place = realFolder(resolve(folder, name)); !places.has(place); place = dirname(place)) places.add(place)
  return [...places]
    .map((place) => join(place, 'node_modules'))
    .filter((path) => existsSync(path))
    .map((path) => relative(realpathSync(folder), path))
}

/** Node resolves imports of a symlink from its target. */
function realFolder(path: string): string {
  return dirname(existsSync(path) ? realpathSync(path) : path)
}

const PACKAGES = '(packages that these files import are executed with them, and are neither shown nor checked)'
const FOREIGN_STORE = '(runs from elsewhere: they are only shown, whatever you answer; see: troupe trust --help)'

async function confirm(text: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  const reader = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await reader.question(text)).trim())
  } finally {
    reader.close()
  }
}

const MAX_DIFF_LINES = 400
const MAX_LINE_CHARACTERS = 2000

async function showChanges(terminal: Terminal, { folder, files, changes }: TrustQuestion): Promise<void> {
  const { readHashedText, readTrustedCopy } = await import('../../formats/trusted-copies.ts')
  const { trustRecordPath } = await import('../../formats/folder-trust.ts')
  let room = MAX_DIFF_LINES
  const show = async (state: string, name: string) => {
    terminal.note(terminal.err.paint('bold', `  ${state}  ${visibleLine(name)}`))
    const after = state === 'removed' ? '' : await readHashedText(resolve(folder, name), files[name] ?? '')
    const before = state === 'new' ? '' : await readTrustedCopy(trustRecordPath(), changes.trusted[name] ?? '')
    if (before === undefined || after === undefined) {
      noteWrapped(terminal, '    too large, not text, or trusted without a copy: read the file before you agree')
      return
    }
    const lines = unifiedDiff(before, after).split('\n')
    for (const line of lines.slice(0, room)) noteDiffLine(terminal, line)
    const hidden = lines.length - room
    if (hidden > 0) noteWrapped(terminal, `    ${hidden} more lines are not shown: read the file before you agree`)
    room = Math.max(0, room - lines.length)
  }
  for (const name of changes.changed) await show('changed', name)
  for (const name of changes.added) await show('new', name)
  for (const name of changes.removed) await show('removed', name)
}

/** Wraps long lines instead of cutting them: whatever is cut off could be the part that matters. */
function noteDiffLine(terminal: Terminal, line: string): void {
  const style = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : 'dim'
  const { width } = terminal.err
  const text = visibleLine(line.slice(0, MAX_LINE_CHARACTERS))
  const room = Math.max(8, width - 6)
  for (let from = 0; from === 0 || from < text.length; from += room)
    terminal.note(terminal.err.paint(style, `    ${from === 0 ? '' : '  '}${text.slice(from, from + room)}`))
  const hidden = line.length - MAX_LINE_CHARACTERS
  if (hidden > 0) noteWrapped(terminal, `    ${hidden} more characters of this line are not shown: read the file`)
}

/** Prevents escape injection and hidden text: control, bidi, zero-width and other invisible characters are shown as their codes. */
export function visibleLine(text: string): string {
  return text
    .replaceAll('\t', '    ')
    .replaceAll(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|[\ufe00-\ufe0f]|(?! )\p{Zs}/gu
