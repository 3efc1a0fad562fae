import type { ReactNode } from 'react'

/* Icons of controls: 16 px, one stroke weight, drawn here so that the page loads nothing. */

export type IconName =
  | 'search'
  | 'filter'
  | 'sun'
  | 'moon'
  | 'system'
  | 'copy'
  | 'check'
  | 'close'
  | 'left'
  | 'right'
  | 'down'
  | 'up'
  | 'link'
  | 'open'
  | 'play'
  | 'pause'
  | 'step-back'
  | 'step-forward'
  | 'say'
  | 'fork'
  | 'stop'
  | 'more'
  | 'download'
  | 'plus'

export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {PATHS[name]}
    </svg>
  )
}

/** The mark of the product: three lanes. */
export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 18 18" width="18" height="18" fill="currentColor" aria-hidden="true">
      <rect x="1" y="2.5" width="9" height="3.4" rx="1.7" />
      <rect x="5" y="7.3" width="12" height="3.4" rx="1.7" />
      <rect x="9" y="12.1" width="6" height="3.4" rx="1.7" />
    </svg>
  )
}

const PATHS: Record<IconName, ReactNode> = {
  search: (
    <>
      <circle cx="7" cy="7" r="4.2" />
      <path d="m10.2 10.2 3.3 3.3" />
    </>
  ),
  filter: <path d="M2.5 3.5h11L9.4 8.4v4.1l-2.8-1.2V8.4Z" />,
  sun: (
    <>
      <circle cx="8" cy="8" r="2.8" />
      <path d="M8 1.6v1.3M8 13.1v1.3M1.6 8h1.3M13.1 8h1.3M3.5 3.5l.9.9M11.6 11.6l.9.9M3.5 12.5l.9-.9M11.6 4.4l.9-.9" />
    </>
  ),
  moon: <path d="M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6Z" />,
  system: (
    <>
      <circle cx="8" cy="8" r="5.6" />
      <path d="M8 2.4a5.6 5.6 0 0 1 0 11.2Z" fill="currentColor" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="7.5" height="7.5" rx="1.2" />
      <path d="M3.8 10.4A.9.9 0 0 1 3 9.5V3.9A.9.9 0 0 1 3.9 3h5.6a.9.9 0 0 1 .9.8" />
    </>
  ),
  check: <path d="m3.4 8.4 3 3 6.2-6.6" />,
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  left: <path d="M9.8 3.6 5.4 8l4.4 4.4" />,
  right: <path d="M6.2 3.6 10.6 8l-4.4 4.4" />,
  down: <path d="M3.6 6.2 8 10.6l4.4-4.4" />,
  up: <path d="M3.6 9.8 8 5.4l4.4 4.4" />,
  link: (
    <>
      <path d="m6.6 9.4 2.8-2.8" />
      <path d="M7.4 4.6 9 3a2.8 2.8 0 0 1 4 4l-1.6 1.6M8.6 11.4 7 13a2.8 2.8 0 0 1-4-4l1.6-1.6" />
    </>
  ),
  open: <path d="M9.6 2.8h3.6v3.6M13 3 8 8M6.6 3.6H3.8a1 1 0 0 0-1 1v7.6a1 1 0 0 0 1 1h7.6a1 1 0 0 0 1-1V9.4" />,
  play: <path d="M5 3.2 12.4 8 5 12.8Z" />,
  pause: <path d="M5.4 3.4v9.2M10.6 3.4v9.2" />,
  'step-back': <path d="M4 3.4v9.2M12 3.6 6.6 8l5.4 4.4Z" />,
  'step-forward': <path d="M12 3.4v9.2M4 3.6 9.4 8 4 12.4Z" />,
  say: <path d="M3.4 3h9.2a1 1 0 0 1 1 1v5.6a1 1 0 0 1-1 1H8L5 13.4v-2.8H3.4a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1Z" />,
  fork: <path d="M4.5 2.8v10.4M11.5 2.8v2a3 3 0 0 1-3 3h-1a3 3 0 0 0-3 3M11.5 2.8v0" />,
  stop: <rect x="3.8" y="3.8" width="8.4" height="8.4" rx="1" />,
  more: <path d="M3.5 8h.1M8 8h.1M12.5 8h.1" strokeWidth="2.2" />,
  download: <path d="M8 2.6v7.4M4.8 7.2 8 10.4l3.2-3.2M3 13.2h10" />,
  plus: <path d="M8 3.2v9.6M3.2 8h9.6" />,
}
