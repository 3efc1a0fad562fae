import type { ReactNode } from 'react'
import { useState } from 'react'
import { Button } from '../design/controls.tsx'
import { inertText } from '../design/inert-text.ts'
import { LongText } from './long-text.tsx'
import { useIsDecision } from './whole-text.tsx'

/** Entries of one object or list that are drawn at first. */
const ENTRIES_AT_FIRST = 200
const OPEN_DEPTH = 2

/** Any JSON value as a tree that opens and closes; whatever has no better form. */
export function JsonTree({ value }: { value: unknown }): ReactNode {
  return (
    <div className="json">
      <JsonNode name={null} value={value} depth={0} />
    </div>
  )
}

interface JsonNodeProps {
  name: string | null
  value: unknown
  depth: number
}

function JsonNode({ name, value, depth }: JsonNodeProps): ReactNode {
  if (typeof value !== 'object' || value === null) return <JsonLeaf name={name} value={value} />
  const entries: [string, unknown][] = Array.isArray(value)
    ? value.map((item, index) => [String(index), item])
    : Object.entries(value)
  if (entries.length === 0) return <JsonLeaf name={name} value={Array.isArray(value) ? '[]' : '{}'} bare />
  return <JsonBranch name={name} entries={entries} depth={depth} isList={Array.isArray(value)} />
}

interface JsonBranchProps {
  name: string | null
  entries: readonly [string, unknown][]
  depth: number
  isList: boolean
}

function JsonBranch({ name, entries, depth, isList }: JsonBranchProps): ReactNode {
  const isDecision = useIsDecision()
  const [open, setOpen] = useState(isDecision || depth < OPEN_DEPTH)
  const [limit, setLimit] = useState(ENTRIES_AT_FIRST)
  const size = `${entries.length} ${isList ? 'item' : 'field'}${entries.length === 1 ? '' : 's'}`
  return (
    <div className="json-branch">
      <button type="button" className="json-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
        {name !== null && <span className="json-key">{inertText(name)}</span>}
        <span className="json-size">{size}</span>
      </button>
      {open && (
        <div className="json-children">
          {entries.slice(0, limit).map(([key, item]) => (
            <JsonNode key={key} name={key} value={item} depth={depth + 1} />
          ))}
          {entries.length > limit && (
            <span data-incomplete="">
              <Button onClick={() => setLimit(limit + 1_000)}>Show {entries.length - limit} more</Button>
            </span>
          )}
        </div>
      )}
    </div>
  )
}

function JsonLeaf({ name, value, bare = false }: { name: string | null; value: unknown; bare?: boolean }): ReactNode {
  const kind = bare || value === null ? 'empty' : typeof value
  return (
    <div className="json-leaf">
      {name !== null && <span className="json-key">{inertText(name)}</span>}
      <span className={`json-value json-${kind}`}>
        <LongText text={bare || typeof value === 'string' ? String(value) : (JSON.stringify(value) ?? 'undefined')} />
      </span>
    </div>
  )
}
