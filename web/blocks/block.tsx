import type { ReactNode } from 'react'
import type { PanelBlock } from '../../src/views/panel.ts'
import { CopyButton } from '../design/controls.tsx'
import { inertText } from '../design/inert-text.ts'
import { Markdown } from '../markdown/markdown.tsx'
import { copyText } from './copy-text.ts'
import { DiffBlock } from './diff.tsx'
import { FactsBlock } from './facts.tsx'
import { GraphBlock } from './graph.tsx'
import { JsonTree } from './json-tree.tsx'
import { keyed } from './keyed.ts'
import { LongText } from './long-text.tsx'
import { MatrixBlock } from './matrix.tsx'
import { MessagesBlock } from './messages.tsx'
import { SharesBlock } from './shares.tsx'
import { StepsBlock } from './steps.tsx'
import { TableBlock } from './table.tsx'
import { AgentName } from './value.tsx'

/** Draws blocks, the data with which patterns and views describe parts of a page. All text ends in text nodes. */
export function Blocks({ blocks }: { blocks: readonly PanelBlock[] }): ReactNode {
  return (
    <div className="blocks">
      {keyed(blocks, (block) => `${block.kind} ${block.title ?? ''}`).map(({ key, item }) => (
        <Block key={key} block={item} />
      ))}
    </div>
  )
}

export function Block({ block }: { block: PanelBlock }): ReactNode {
  return (
    <section className={`block block-${block.kind}`}>
      {block.title !== undefined && (
        <header className="block-head">
          <h3 className="block-title">{inertText(block.title)}</h3>
          <CopyButton text={copyText(block)} label={`Copy ${inertText(block.title)}`} />
        </header>
      )}
      <BlockBody block={block} />
    </section>
  )
}

function BlockBody({ block }: { block: PanelBlock }): ReactNode {
  switch (block.kind) {
    case 'facts':
      return <FactsBlock facts={block.facts} />
    case 'text':
      return <TextBlock block={block} />
    case 'code':
      return (
        <pre className="code">
          <LongText text={block.text} rest={block.rest} />
        </pre>
      )
    case 'table':
      return <TableBlock block={block} />
    case 'steps':
      return <StepsBlock steps={block.steps} />
    case 'shares':
      return <SharesBlock shares={block.shares} unit={block.unit} />
    case 'graph':
      return <GraphBlock nodes={block.nodes} edges={block.edges} title={block.title} />
    case 'matrix':
      return <MatrixBlock block={block} />
    case 'messages':
      return <MessagesBlock messages={block.messages} />
    case 'diff':
      return <DiffBlock path={block.path} diff={block.diff} rest={block.rest} />
    default:
      return <JsonTree value={'value' in block ? block.value : block} />
  }
}

/** The words of an agent are a claim: they are set apart from what Troupe observed. */
function TextBlock({ block }: { block: Extract<PanelBlock, { kind: 'text' }> }): ReactNode {
  const text = <Markdown text={block.text} />
  if (block.claimed_by === undefined) return text
  return (
    <blockquote className="claim">
      <p className="claim-head">
        What the agent says, not checked <AgentName label={block.claimed_by} />
      </p>
      {text}
    </blockquote>
  )
}
