import type { ReactNode } from 'react'

/* Textures of the series, so that neighbours differ without their colours. */

const TEXTURES = [
  undefined,
  <path key="lines" d="M0 6L6 0" className="chart-texture" />,
  <circle key="dots" cx="3" cy="3" r="1" className="chart-dot" />,
  <path key="rungs" d="M0 3H6" className="chart-texture" />,
]

/** The definitions; a page has them once. */
export function Textures(): ReactNode {
  return (
    <svg width="0" height="0" className="chart-defs" aria-hidden="true">
      <defs>
        {TEXTURES.map(
          (shape) =>
            shape && (
              <pattern key={shape.key} id={`cost-${shape.key}`} width="6" height="6" patternUnits="userSpaceOnUse">
                {shape}
              </pattern>
            ),
        )}
      </defs>
    </svg>
  )
}

/** Draws the shape of a series again, filled with its texture; the first of every four has none. */
export function Texture({ order, draw }: { order: number; draw(props: { fill: string }): ReactNode }): ReactNode {
  const shape = TEXTURES[order % TEXTURES.length]
  return shape && draw({ fill: `url(#cost-${shape.key})` })
}
