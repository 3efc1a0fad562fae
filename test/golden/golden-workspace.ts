import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { realWorld } from '../../src/engine/real-world.ts'
import type { TroupeOptions } from '../../src/index.ts'

/* A workspace for golden requests. The golden files have the same folder and platform on every machine. */

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-golden-')))
mkdirSync(join(folder, '.git'))
writeFileSync(join(folder, '.git', 'HEAD'), 'ref: refs/heads/fix/door\n')
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

export const workspaceOptions: Partial<TroupeOptions> = {
  workspace: { workspace: folder, sandbox: 'none' },
  engine: { world: { ...realWorld(), now: () => Date.UTC(2026, 10, 16) } },
}

export function normalizeWorkspace(text: string): string {
  return text.replaceAll(folder, '/workspace').replace(`Platform: ${process.platform}`, 'Platform: linux')
}
