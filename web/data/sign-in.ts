/** The token in the fragment of the address, which is removed from the address and its history entry at once. */
export function takeTokenFromAddress(): string | null {
  const { hash, pathname, search } = window.location
  const token = new URLSearchParams(hash.slice(1)).get('token')
  if (token === null) return null
  window.history.replaceState(null, '', pathname + search)
  return token === '' ? null : token
}
