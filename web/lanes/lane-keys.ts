/* Keys of the lanes. Letters work on the whole page, arrows only while nothing else that uses them has the focus. */

export type LaneAction =
  | 'previous'
  | 'next'
  | 'lane-up'
  | 'lane-down'
  | 'inside'
  | 'outside'
  | 'previous-delegation'
  | 'next-delegation'
  | 'zoom-in'
  | 'zoom-out'
  | 'fit'
  | 'level-1'
  | 'level-2'
  | 'level-3'
  | 'level-4'
  | 'follow'
  | 'gaps'
  | 'need'
  | 'play'
  | 'slower'
  | 'faster'

const KEYS: Readonly<Record<string, LaneAction>> = {
  ArrowLeft: 'previous',
  ArrowRight: 'next',
  ArrowUp: 'lane-up',
  ArrowDown: 'lane-down',
  Enter: 'inside',
  Backspace: 'outside',
  '[': 'previous-delegation',
  ']': 'next-delegation',
  '+': 'zoom-in',
  '=': 'zoom-in',
  '-': 'zoom-out',
  '0': 'fit',
  '1': 'level-1',
  '2': 'level-2',
  '3': 'level-3',
  '4': 'level-4',
  f: 'follow',
  i: 'gaps',
  n: 'need',
  ' ': 'play',
  '<': 'slower',
  '>': 'faster',
}

/** Keys that controls use themselves. */
const CONTROL_KEYS = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Enter', 'Backspace', ' '])

export interface KeyPress {
  key: string
  ctrlKey: boolean
  metaKey: boolean
  altKey: boolean
  /** A text field has the focus. */
  inText: boolean
  /** Nothing has the focus, or the lanes have it. */
  inLanes: boolean
}

export function laneAction({ key, ctrlKey, metaKey, altKey, inText, inLanes }: KeyPress): LaneAction | null {
  if (ctrlKey || metaKey || altKey || inText) return null
  if (CONTROL_KEYS.has(key) && !inLanes) return null
  return Object.hasOwn(KEYS, key) ? (KEYS[key] ?? null) : null
}
