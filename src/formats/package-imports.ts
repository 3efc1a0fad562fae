import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

/*
 * Names that a package gives to its own files: `#tools` by `imports`, and `my-app/tools` by `exports` of its `package.json`. Over-approximates:
 * the targets of all conditions count, because which of them Node uses depends on how it was started.
 */

/** The files that names in the code of `folder` may stand for, and the `package.json` that says so. */
export async function packageImportFiles(folder: string, code: string): Promise<string[]> {
  const names = [...code.matchAll(PACKAGE_NAME)].map(([, , name = '']) => name)
  if (names.length === 0) return []
  const manifest = await nearestManifest(folder)
  if (!manifest) return []
  const { imports, exports, name: ownName } = manifest.content
  const files = names.flatMap((name) => {
    if (name.startsWith('#')) return targetsOf(imports, name)
    if (typeof ownName !== 'string' || (name !== ownName && !name.startsWith(`${ownName}/`))) return []
    return targetsOf(subpaths(exports), `.${name.slice(ownName.length)}`)
  })
  return files.length === 0 ? [] : [manifest.path, ...files.map((file) => resolve(dirname(manifest.path), file))]
}

const PACKAGE_NAME = /(['"`])(#[^'"`\s]{1,300}|@?[a-z0-9][\w.~/-]{0,300})\1/g

interface Manifest {
  path: string
  content: { name?: unknown; imports?: unknown; exports?: unknown }
}

/** As in Node, only the nearest `package.json` counts. */
async function nearestManifest(folder: string): Promise<Manifest | undefined> {
  for (let current = folder; ; current = dirname(current)) {
    const path = join(current, 'package.json')
    const text = await readFile(path, 'utf8').catch(() => undefined)
    if (text !== undefined) return { path, content: parseObject(text) }
    if (dirname(current) === current) return undefined
  }
}

function parseObject(text: string): Manifest['content'] {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

/** `exports` may be the target of `.` itself, or its conditions. */
function subpaths(exports: unknown): unknown {
  const isMap =
    typeof exports === 'object' && exports !== null && Object.keys(exports).some((key) => key.startsWith('.'))
  return isMap ? exports : { '.': exports }
}

/** The relative paths that a name stands for, by an equal key or one with `*`. */
function targetsOf(map: unknown, name: string): string[] {
  if (typeof map !== 'object' || map === null) return []
  return Object.entries(map).flatMap(([key, target]) => {
    const [head = '', tail] = key.split('*', 2)
    const isMatch =
      tail === undefined
        ? key === name
        : name.length >= head.length + tail.length && name.startsWith(head) && name.endsWith(tail)
    if (!isMatch) return []
    const part = tail === undefined ? '' : name.slice(head.length, name.length - tail.length)
    return stringsIn(target)
      .filter((path) => path.startsWith('./'))
      .map((path) => path.replaceAll('*', part))
  })
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}
