import type { ReactNode } from 'react'
import { useState } from 'react'
import type { ArtifactItem } from '../../src/surfaces/http/contract.ts'
import { keyed } from '../blocks/keyed.ts'
import { LongText } from '../blocks/long-text.tsx'
import { Button, CopyButton } from '../design/controls.tsx'
import { formatBytes, formatTime } from '../design/format.ts'
import { inertLine, inertText } from '../design/inert-text.ts'
import { EmptyState, ErrorState, LoadingRows } from '../design/notice.tsx'
import type { RunScope } from './run-context.ts'
import { useLoaded, useStoreVersion } from './watch-run.ts'

/** Files that the run left, with their versions. Text is shown up to 200 KB; everything can be downloaded. */
export function ArtifactsTab({ scope }: { scope: RunScope }): ReactNode {
  const { source, store, runId } = scope
  useStoreVersion(store)
  const [selected, setSelected] = useState<string | null>(null)
  const ended = store.run?.ended_seq ?? 0
  const loaded = useLoaded(() => source.artifacts(runId), [runId, ended, Math.floor(store.seq / 50)])
  if (loaded.kind === 'loading') return <LoadingRows rows={4} />
  if (loaded.kind === 'error')
    return <ErrorState title="The artifacts cannot be read">{inertText(loaded.error.message)}</ErrorState>
  if (loaded.value.length === 0)
    return <EmptyState title="No artifacts">Files that agents leave with a result appear here.</EmptyState>
  const current = loaded.value.find((item) => artifactKey(item) === selected) ?? loaded.value[0]
  return (
    <div className="tab-page artifacts-tab">
      <ul className="artifact-list" aria-label="Artifacts">
        {keyed(loaded.value, artifactKey).map(({ key, item }) => (
          <li key={key}>
            <button
              type="button"
              className="artifact-row"
              aria-pressed={item === current}
              onClick={() => setSelected(artifactKey(item))}
            >
              <span className="clip">{inertLine(item.name, 120)}</span>
              <span className="muted">
                version {item.version}, {formatBytes(item.size)}, {formatTime(item.at)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {current && <ArtifactView key={artifactKey(current)} scope={scope} artifact={current} />}
    </div>
  )
}

function artifactKey({ name, version }: ArtifactItem): string {
  return `${name} ${version}`
}

/** A link cannot send the header that requests of the page need. */
function saveFile(content: Blob, name: string): void {
  const address = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = address
  link.download = inertLine(name.split('/').at(-1) ?? 'artifact', 120)
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

function ArtifactView({ scope, artifact }: { scope: RunScope; artifact: ArtifactItem }): ReactNode {
  const { source, runId } = scope
  const loaded = useLoaded(() => source.artifactPreview(runId, artifact), [runId, artifact.name, artifact.version])
  const [problem, setProblem] = useState('')
  const download =
    source.artifactContent &&
    (() => {
      setProblem('')
      source.artifactContent?.(runId, artifact).then(
        (content) => saveFile(content, artifact.name),
        (error: Error) => setProblem(error.message),
      )
    })
  const text = loaded.kind === 'ready' ? loaded.value : null
  return (
    <section className="card artifact-view">
      <header className="section-head">
        <h2 className="clip">{inertLine(artifact.name, 200)}</h2>
        <span className="muted">{inertLine(artifact.media_type, 60)}</span>
        <span className="grow" />
        {text !== null && <CopyButton text={text.text} />}
        {download && <Button onClick={download}>Download</Button>}
      </header>
      {problem !== '' && <p className="empty section-empty">{inertText(problem)}</p>}
      {loaded.kind === 'loading' && <LoadingRows rows={6} height={20} />}
      {loaded.kind === 'error' && <p className="empty section-empty">{inertText(loaded.error.message)}</p>}
      {loaded.kind === 'ready' && text === null && (
        <p className="empty section-empty">{formatBytes(artifact.size)}, no text. Download it.</p>
      )}
      {text?.is_cut && (
        <p className="empty section-empty">
          {formatBytes(artifact.size)}.{' '}
          {!download ? 'The first part is in this export.' : 'Download it; the first 200 KB are shown.'}
        </p>
      )}
      {text !== null && (
        <pre className="code artifact-text">
          <LongText text={text.text} limit={200_000} />
        </pre>
      )}
    </section>
  )
}
