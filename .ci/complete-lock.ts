// A registry mirror may host a binary package for one platform only. npm then omits the other platforms from the lock
// file, and `npm ci` fails everywhere else. This script adds the missing optional entries by name and version.
// Run it after every dependency change: `npm run lock`.
import { readFileSync, writeFileSync } from 'node:fs'

type LockEntry = {
  version?: string
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  engines?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const operatingSystems = [
  'android',
  'darwin',
  'freebsd',
  'linux',
  'openharmony',
  'win32',
  'sunos',
  'aix',
  'netbsd',
  'openbsd',
]
const processors = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'wasm32']

function parsePlatform(name: string): Pick<LockEntry, 'os' | 'cpu' | 'libc'> | undefined {
  const words = name.split(/[-/]/)
  const cpu = processors.find((word) => words.includes(word))
  const os = operatingSystems.find((word) => words.includes(word))
  if (cpu === undefined || (os === undefined && cpu !== 'wasm32')) return undefined
  const libc = words.some((word) => word.startsWith('musl')) ? 'musl' : 'glibc'
  return { cpu: [cpu], ...(os ? { os: [os] } : {}), ...(os === 'linux' ? { libc: [libc] } : {}) }
}

function missingEntries(packages: Record<string, LockEntry>): Record<string, LockEntry> {
  const found: Record<string, LockEntry> = {}
  for (const [owner, entry] of Object.entries(packages)) {
    for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
      const path = `node_modules/${name}`
      if (packages[path] || packages[`${owner}/${path}`]) continue
      const platform = parsePlatform(name)
      if (!platform)
        throw new Error(
          `${owner} depends on ${name}, which is not in the lock file and whose platform cannot be derived from its name`,
        )
      const version = range.replace(/^[~^=v]+/, '')
      found[path] = { version, ...(entry.dev ? { dev: true } : {}), optional: true, ...platform }
    }
  }
  return found
}

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockEntry> }
const missing = missingEntries(lock.packages)
const sorted = Object.entries({ ...lock.packages, ...missing }).sort(([a], [b]) => a.localeCompare(b, 'en'))
lock.packages = Object.fromEntries(sorted)
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${Object.keys(missing).length} entries added to package-lock.json`)
