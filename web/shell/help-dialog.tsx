import { Key } from '../design/controls.tsx'
import { Dialog } from './dialog.tsx'
import { activeKeys } from './keys.ts'

/** All keys that work on this page. */
export function HelpDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose} wide>
      <div className="help-sections">
        {activeKeys().map(({ title, bindings }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {bindings.map(({ keys, label }) => (
                <div key={keys}>
                  <dt>
                    <span className="visually-hidden">{keys}</span>
                    {keys.split(' ').map((stroke) => (
                      <Key key={stroke}>{keyName(stroke)}</Key>
                    ))}
                  </dt>
                  <dd>{label}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

function keyName(stroke: string): string {
  const names: Record<string, string> = {
    ArrowUp: '↑',
    ArrowDown: '↓',
    ArrowLeft: '←',
    ArrowRight: '→',
    Escape: 'Esc',
    Space: 'Space',
  }
  return names[stroke] ?? (stroke.length === 1 ? stroke.toUpperCase() : stroke)
}
