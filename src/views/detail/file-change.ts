import { unifiedDiff } from '../../judgement/diff/unified-diff.ts'
import type { Event } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { PanelBlock } from '../panel.ts'
import { isObject } from './value-blocks.ts'

/* The change that a call makes to a file, recognised by the fields of its input, so that tools of MCP servers are covered, too. */

interface Replacement {
  before: string
  after: string
}

interface FileChange {
  path: string
  /** The whole new text, or parts that are replaced. */
  content?: string
  replacements?: Replacement[]
}

/** Texts above this size are shown without a diff. */
const MAX_DIFF_CHARACTERS = 1_000_000

export function fileChangeFrom(input: unknown): FileChange | undefined {
  if (!isObject(input)) return undefined
  const path = input.file_path ?? input.path
  if (typeof path !== 'string') return undefined
  if (typeof input.content === 'string') return { path, content: input.content }
  const replacements = [input, ...(Array.isArray(input.edits) ? input.edits : [])].flatMap(toReplacement)
  return replacements.length === 0 ? undefined : { path, replacements }
}

function toReplacement(edit: unknown): Replacement[] {
  if (!isObject(edit)) return []
  const [before, after] = [edit.old_string ?? edit.oldText, edit.new_string ?? edit.newText]
  return typeof before === 'string' && typeof after === 'string' ? [{ before, after }] : []
}

interface ChangePlace {
  /** Only the changes of this session: others may work in another folder. */
  session_id: string | undefined
  /** The event before which the file is looked at. */
  before: number
}

/** The change as a diff, against what the session itself wrote before; without that, parts alone, or a new file. */
export function fileChangeBlocks(events: readonly Event[], input: unknown, place: ChangePlace): PanelBlock[] {
  const change = fileChangeFrom(input)
  if (!change) return []
  const { path } = change
  const known = writtenContent(events, path, place)
  if (known !== undefined) {
    const after = applyChange(known, change)
    if (after !== undefined) return [diffBlock(path, known, after)]
  }
  if (change.content !== undefined) return [diffBlock(path, '', change.content)]
  // Parts of a file, not files: where they end says nothing about the end of the file.
  return (change.replacements ?? []).map(({ before, after }) => diffBlock(path, wholeLines(before), wholeLines(after)))
}

function wholeLines(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

function diffBlock(path: string, before: string, after: string): PanelBlock {
  if (before.length + after.length > MAX_DIFF_CHARACTERS) return { kind: 'code', title: path, text: after }
  return { kind: 'diff', path, diff: unifiedDiff(before, after) }
}

/** The text of a file as earlier calls of the session left it; `undefined` if the journal does not tell. */
function writtenContent(events: readonly Event[], path: string, { session_id, before }: ChangePlace) {
  const inputs = new Map<string, unknown>()
  let content: string | undefined
  for (const event of events) {
    if (event.seq >= before) break
    if (event.session_id !== session_id) continue
    if (isEvent(event, 'tool:pre')) inputs.set(event.data.key, event.data.input)
    if (!isEvent(event, 'tool:post')) continue
    const change = fileChangeFrom(inputs.get(event.data.key))
    const touched = event.data.files ?? []
    if (change?.path === path && touched.length > 0) content = applyChange(content, change)
    else if (touched.includes(path) || event.data.deleted?.includes(path)) content = undefined
  }
  return content
}

function applyChange(content: string | undefined, change: FileChange): string | undefined {
  if (change.content !== undefined) return change.content
  let text = content
  for (const { before, after } of change.replacements ?? []) {
    if (!text?.includes(before)) return undefined
    text = text.split(before).join(after)
  }
  return text
}
