import type { PanelBlock, PanelFact } from '../panel.ts'
import type { TimelineRef } from '../timeline/timeline.ts'

/** A part of a detail, such as the input of a call. */
export interface DetailSection {
  title: string
  /** A few words beside the title, such as the name of a schema. */
  note?: string
  tone?: 'good' | 'bad'
  blocks: PanelBlock[]
}

/** Everything about one place of a run: structured first, the events behind it last. */
export interface Detail {
  ref: TimelineRef
  /** `Delegation, call 10`. */
  kind: string
  title: string
  /** Labels of lanes; `null` is the run or a person. */
  from: string | null
  to: string | null
  state: string
  facts: PanelFact[]
  sections: DetailSection[]
  /** The events behind it. */
  json: unknown
}
