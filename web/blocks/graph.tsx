import type { ReactNode } from 'react'
import { useId, useMemo, useState } from 'react'
import type { PanelEdge, PanelNode } from '../../src/views/panel.ts'
import { Segments } from '../design/controls.tsx'
import { formatCountOf } from '../design/format.ts'
import { inertText } from '../design/inert-text.ts'
import { toViewState } from '../design/state.tsx'
import { useAgentIndex } from './agent-index.ts'
import type { PlacedEdge, PlacedNode } from './graph-layout.ts'
import { layoutGraph, NODE_HEIGHT, NODE_WIDTH } from './graph-layout.ts'
import { TableBlock } from './table.tsx'

interface GraphProps {
  nodes: readonly PanelNode[]
  edges: readonly PanelEdge[]
  title: string | undefined
}

/** A directed graph as a picture, or as a table with the same numbers. */
export function GraphBlock({ nodes, edges, title: given = 'Graph' }: GraphProps): ReactNode {
  const title = inertText(given)
  const [view, setView] = useState<'picture' | 'table'>('picture')
  const options = [
    { value: 'picture', label: 'Picture' },
    { value: 'table', label: 'Table' },
  ] as const
  if (nodes.length === 0) return <p className="empty">Nothing yet.</p>
  return (
    <div className="graph">
      <Segments label={`${title}: view`} options={options} value={view} onChange={setView} />
      {view === 'picture' ? (
        <Picture nodes={nodes} edges={edges} title={title} />
      ) : (
        <EdgeTable nodes={nodes} edges={edges} />
      )}
    </div>
  )
}

function Picture({ nodes, edges, title }: GraphProps): ReactNode {
  const layout = useMemo(() => layoutGraph(nodes, edges), [nodes, edges])
  const [focused, setFocused] = useState<string | null>(null)
  const arrow = useId()
  const labels = new Map(nodes.map(({ id, label }) => [id, label]))
  const isNear = ({ edge }: PlacedEdge) => focused === null || edge.from === focused || edge.to === focused
  return (
    <figure className="scroll-x" aria-label={title}>
      <svg
        className="graph-picture"
        viewBox={`0 0 ${layout.width} ${layout.height}`}
        width={layout.width}
        height={layout.height}
      >
        <title>{title}</title>
        <defs>
          <marker
            id={arrow}
            viewBox="0 0 8 8"
            refX="8"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            markerUnits="userSpaceOnUse"
            orient="auto"
          >
            <path d="M0,0 L8,4 L0,8 Z" className="graph-head" />
          </marker>
        </defs>
        {layout.edges.map((placed) => (
          <Edge key={edgeKey(placed.edge)} placed={placed} arrow={arrow} near={isNear(placed)} />
        ))}
        {layout.nodes.map((placed) => (
          <Node
            key={placed.node.id}
            placed={placed}
            spoken={nodeText(placed.node, edges, labels)}
            onFocus={(on) => setFocused(on ? placed.node.id : null)}
          />
        ))}
      </svg>
    </figure>
  )
}

interface NodeProps {
  placed: PlacedNode
  spoken: string
  onFocus(on: boolean): void
}

function Node({ placed: { node, x, y }, spoken, onFocus }: NodeProps): ReactNode {
  const agentIndex = useAgentIndex()
  const lane = (agentIndex(node.id) % 12) + 1
  return (
    // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: focus shows the edges of the node, as the pointer does
    <g
      role="img"
      aria-label={spoken}
      tabIndex={0}
      className={`graph-node graph-${node.state === undefined ? 'plain' : toViewState(node.state)}`}
      transform={`translate(${x},${y})`}
      onFocus={() => onFocus(true)}
      onBlur={() => onFocus(false)}
      onMouseEnter={() => onFocus(true)}
      onMouseLeave={() => onFocus(false)}
    >
      <title>{spoken}</title>
      <rect
        width={NODE_WIDTH}
        height={NODE_HEIGHT}
        rx="6"
        style={{ stroke: node.state === undefined ? 'var(--line-3)' : `var(--lane-${lane})` }}
      />
      <text x={NODE_WIDTH / 2} y={node.note === undefined ? 24 : 17} textAnchor="middle" className="graph-label">
        {shorten(inertText(node.label), 26)}
      </text>
      {node.note !== undefined && (
        <text x={NODE_WIDTH / 2} y={31} textAnchor="middle" className="graph-note">
          {shorten(inertText(node.note), 28)}
        </text>
      )}
    </g>
  )
}

function Edge({ placed, arrow, near }: { placed: PlacedEdge; arrow: string; near: boolean }): ReactNode {
  const { edge, path, label } = placed
  const count = edge.count ?? 1
  const kind = count === 0 ? 'possible' : 'taken'
  return (
    <g className={`graph-edge edge-${kind}${near ? '' : ' edge-far'}`}>
      <title>{edgeText(edge)}</title>
      <path d={path} markerEnd={`url(#${arrow})`} style={{ strokeWidth: Math.min(1 + count / 2, 4) }} />
      {count > 0 && (
        <text x={label.x} y={label.y + 4} textAnchor="middle" className="graph-count">
          {count}
        </text>
      )}
    </g>
  )
}

function EdgeTable({ nodes, edges }: Omit<GraphProps, 'title'>): ReactNode {
  const labels = new Map(nodes.map(({ id, label }) => [id, label]))
  const rows = edges.map((edge) => ({
    from: labels.get(edge.from) ?? edge.from,
    to: labels.get(edge.to) ?? edge.to,
    label: edge.label ?? null,
    count: edge.count ?? 1,
  }))
  const columns = [
    { key: 'from', title: 'From' },
    { key: 'to', title: 'To' },
    { key: 'label', title: 'Rule' },
    { key: 'count', title: 'Count', unit: 'count' as const },
  ]
  return <TableBlock block={{ kind: 'table', columns, rows, empty: 'No connections.' }} />
}

function edgeKey({ from, to, label }: PanelEdge): string {
  return `${from} ${to} ${label ?? ''}`
}

function edgeText(edge: PanelEdge): string {
  const times =
    edge.count === undefined ? '' : edge.count === 0 ? ', not taken' : `, ${formatCountOf(edge.count, 'time')}`
  return inertText(`${edge.from} to ${edge.to}${edge.label ? `: ${edge.label}` : ''}${times}`)
}

function nodeText(node: PanelNode, edges: readonly PanelEdge[], labels: ReadonlyMap<string, string>): string {
  const to = edges.filter(({ from, count }) => from === node.id && count !== 0)
  const targets = to.map((edge) => `${labels.get(edge.to) ?? edge.to} ${edge.count ?? 1}`).join(', ')
  const parts = [node.label, node.state, node.note, targets && `to ${targets}`]
  return inertText(parts.filter(Boolean).join('; '))
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}
