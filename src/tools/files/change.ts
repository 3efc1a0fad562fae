import { lstat } from 'node:fs/promises'
import { sha256 } from '../../kernel/hash.ts'
import type { ToolCall, ToolResult } from '../../kernel/tool.ts'
import { mistaken, refused } from '../complaint.ts'
import { replaceFile, wholeFile } from './content.ts'
import type { Spot } from './descend.ts'
import { atPlace, whereTo } from './descend.ts'
import type { FileTools } from './file-tools.ts'
import { placeOf } from './place.ts'

/** What is there before a change; `undefined` when there is no file. */
export type Before = { bytes: Buffer; path: string } | undefined

export interface Change {
  content: Buffer
  /** What the model is told. */
  says: string
}

/**
 * Changes one file as a whole. Refused unless the session knows what is there now: it read or wrote exactly that content.
 * Two changes of one file never overlap.
 */
export async function changeFile(
  tools: FileTools,
  file_path: string,
  call: ToolCall,
  make: (before: Before) => Change,
): Promise<ToolResult> {
  const { workspace, seen, turns } = tools
  const place = placeOf(workspace, file_path)
  // Before folders are made on a way that nobody agreed to; what counts is the look at the spot itself.
  if (call.subject !== undefined) mustBeMeant(call, whereTo(workspace, file_path))
  return atPlace(workspace, place, { purpose: 'write', create: true }, (spot) =>
    turns.take(spot.names.join('/'), async () => {
      const path = spot.names.join('/')
      mustBeMeant(call, path)
      if (spot.stat?.isDirectory()) throw mistaken(`'${path}' is a folder`)
      const there = await wholeFile(await again(spot))
      await mustKnow(tools, call.session_id, path, there?.hash)
      const change = make(there && { bytes: there.bytes, path })
      const after = sha256(change.content)
      await seen.announce(call.session_id, path, call.idempotency_key, { before: there?.hash ?? null, after })
      await replaceFile({ ...spot, stat: there?.stat }, change.content)
      await seen.remember(call.session_id, path, after)
      const others = (there?.stat.nlink ?? 1) - 1
      const note = others > 0 ? ` The file had ${others} more name(s) elsewhere; they keep the old content.` : ''
      return { success: true, output: change.says + note, files: [path] }
    }),
  )
}

/** After a crash between begin and end: whether the change was made, by the hashes it had announced. */
export async function recoverChange(
  tools: FileTools,
  file_path: string,
  call: ToolCall,
): Promise<ToolResult | undefined> {
  const announced = await tools.seen.announced(call.session_id, call.idempotency_key)
  if (!announced) return undefined
  const place = placeOf(tools.workspace, file_path)
  return atPlace(tools.workspace, place, { purpose: 'write' }, async (spot) => {
    const path = spot.names.join('/')
    const now = (await wholeFile(spot))?.hash ?? null
    if (now === announced.after) {
      await tools.seen.remember(call.session_id, path, announced.after)
      return { success: true, output: `${path} was changed before the interruption.`, files: [path] }
    }
    if (now === announced.before) return undefined
    throw mistaken(`'${path}' is neither as it was before the change nor as it would be after it`)
  })
}

/** While a person was asked, a link may have been put where the file was. */
function mustBeMeant({ subject }: ToolCall, path: string): void {
  if (subject === undefined || subject === path) return
  throw refused(
    `permission was given for '${subject}', which now leads to '${path}'`,
    'look what changed, then ask again',
  )
}

async function mustKnow({ seen }: FileTools, session: string, path: string, hash: string | undefined): Promise<void> {
  if (hash === undefined) return
  const known = await seen.hashFor(session, path)
  if (known === hash) return
  throw known === undefined
    ? mistaken(`'${path}' exists and you have not read it`, 'read it first, then change it')
    : mistaken(`'${path}' has changed since you read it`, 'read it again first, then change it')
}

/** Another change may have come first while this one waited for its turn. */
async function again(spot: Spot): Promise<Spot> {
  const stat = await lstat(spot.path).catch(() => undefined)
  return { ...spot, stat }
}
