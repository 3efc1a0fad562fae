/** The oldest supported Node; `engines` in package.json says the same. `node:sqlite` of 22.19 fails on valid statements. */
const OLDEST_NODE = '22.20.0'

/** Says what to do if this version of Node is too old; `undefined` if it is supported. */
export function nodeVersionProblem(version: string): string | undefined {
  return isOlder(version, OLDEST_NODE)
    ? `Troupe needs Node ${OLDEST_NODE} or newer, and this is Node ${version}`
    : undefined
}

/** Not `localeCompare` with `numeric`: it loads the collation data of a language, in every process. */
function isOlder(version: string, oldest: string): boolean {
  const [left, right] = [version, oldest].map((text) => text.split('.').map((part) => Number.parseInt(part, 10)))
  const difference = left?.map((part, index) => part - (right?.[index] ?? 0)).find((each) => each !== 0) ?? 0
  return difference < 0
}
