import { TroupeError } from '../../errors.ts'
import type { Artifact, ArtifactRef } from '../artifact.ts'
import type { Caller } from '../context.ts'
import { isEvent } from '../event.ts'
import { sha256 } from '../hash.ts'
import type { StepScope } from '../journal/step.ts'
import { runStep, settleOnce } from '../journal/step.ts'

/** The session that writes an artifact; a pattern may write one, too. */
export type ArtifactAuthor = Pick<Caller, 'session_id' | 'opening'>

/** A journal holds whole artifacts, and every reader of one has it in memory. */
const MAX_ARTIFACT_BYTES = 24 * 1024 * 1024

/** Whether the journal takes a content: as JSON, in which a control character has six bytes. */
export function fitsArtifact(content: string): boolean {
  if (content.length * 6 <= MAX_ARTIFACT_BYTES) return true
  return content.length <= MAX_ARTIFACT_BYTES && Buffer.byteLength(JSON.stringify(content)) <= MAX_ARTIFACT_BYTES
}

function tooLargeError({ name, content }: { name: string; content: string }): TroupeError {
  const megabytes = Math.ceil(Buffer.byteLength(content) / 1024 / 1024)
  return new TroupeError(
    // Not `too_large`, the error of a store, which ends the run.
    'invalid_input',
    `artifact '${name}' has ${megabytes} MB; at most ${MAX_ARTIFACT_BYTES / 1024 / 1024} MB can be stored`,
    { hint: 'write it to a file and store its path in the artifact, or split it into several artifacts' },
  )
}

/** Writes the next version of an artifact, once per key. Throws `invalid_input` for a content that is too large, without a trace in the journal, so that the run can go on. */
export function writeArtifact(
  scope: StepScope,
  author: ArtifactAuthor | undefined,
  artifact: { name: string; content: string; media_type?: string },
): ArtifactRef {
  const { execution, key } = scope
  const event = settleOnce(scope, () => {
    if (!fitsArtifact(artifact.content)) throw tooLargeError(artifact)
    const data = {
      key,
      name: artifact.name,
      version: (execution.journalIndex.artifactVersions.get(artifact.name) ?? 0) + 1,
      media_type: artifact.media_type ?? 'text/plain',
      content: artifact.content,
      checksum: sha256(artifact.content),
      size: Buffer.byteLength(artifact.content),
      by: author?.opening.agent.name ?? 'pattern',
    }
    const written = execution.journal.append('artifact:write', data, author?.session_id)
    execution.journalIndex.add(written)
    return written
  })
  if (!isEvent(event, 'artifact:write')) throw new TroupeError('internal', `'${key}' is not an artifact`)
  const { name, version, checksum, size } = event.data
  return { name, version, checksum, size }
}

/** Records the version and reads the content again, so that a journal does not hold an artifact twice. */
export async function readArtifact(
  scope: StepScope,
  { name, version }: { name: string; version?: number },
): Promise<Artifact | undefined> {
  const { execution } = scope
  const read = async (wanted?: number) => {
    await execution.journal.commit()
    return execution.ports.readArtifact(execution.run.id, name, wanted)
  }
  const found = await runStep<number | null>(scope, async () => (await read(version))?.version ?? null)
  return found === null ? undefined : execution.load(() => read(found))
}
