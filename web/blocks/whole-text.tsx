import type { ReactNode } from 'react'
import { createContext, useContext, useState } from 'react'
import type { QuestionPart } from '../../src/surfaces/http/contract.ts'
import type { PanelRest } from '../../src/views/panel.ts'
import { Button } from '../design/controls.tsx'
import { inertLine } from '../design/inert-text.ts'

/** Loads a part of a block, from a character on. */
export type LoadPart = (place: { block: number; from: number }) => Promise<QuestionPart>

/** Set around what a person decides about: nothing of it is folded away, and its long blocks load their rest. */
export const decisionContext = createContext<LoadPart | null>(null)

/** Whether a person decides about what is shown: then every part of it is open. */
export function useIsDecision(): boolean {
  return useContext(decisionContext) !== null
}

export interface WholeText {
  /** What has been loaded. */
  text: string
  /** Characters that have not. */
  missing: number
  isLoading: boolean
  problem: string | null
  loadMore(): Promise<void>
}

/** A text with its rest, which is loaded part by part. */
export function useWholeText(first: string, rest: PanelRest | undefined): WholeText {
  const load = useContext(decisionContext)
  const [loaded, setLoaded] = useState('')
  const [isLoading, setIsLoading] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const missing = rest === undefined ? 0 : rest.length - rest.from - loaded.length
  const loadMore = async () => {
    if (rest === undefined || load === null || isLoading) return
    setIsLoading(true)
    setProblem(null)
    try {
      const { text } = await load({ block: rest.block, from: rest.from + loaded.length })
      setLoaded(loaded + text)
    } catch (error) {
      setProblem((error as Error).message)
    }
    setIsLoading(false)
  }
  return { text: first + loaded, missing, isLoading, problem, loadMore }
}

/** Says how much is missing, and shows more of it. `data-incomplete` locks the answers of a question. */
export function RestNotice(props: { left: string; whole: WholeText; isDrawn: boolean; onDraw: () => void }): ReactNode {
  const { left, whole, isDrawn, onDraw } = props
  return (
    <span className="rest-notice" data-incomplete="">
      <span className="cut-text">… {left} not shown yet. </span>
      <Button disabled={whole.isLoading} onClick={() => (isDrawn ? void whole.loadMore() : onDraw())}>
        {isDrawn && whole.missing > 0 ? 'Show more' : 'Show the rest'}
      </Button>
      {whole.problem === null ? null : <span role="alert"> {inertLine(whole.problem, 200)} Try again.</span>}
    </span>
  )
}
