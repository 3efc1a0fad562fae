// Loaded before a documented program: `troupe` means this clone's source, and no socket leaves the machine.
import { registerHooks } from 'node:module'
import { Socket } from 'node:net'

const sources: Readonly<Record<string, string>> = {
  troupe: new URL('../../src/index.ts', import.meta.url).href,
  'troupe/testing': new URL('../../src/testing/index.ts', import.meta.url).href,
}

registerHooks({
  resolve: (specifier, context, next) => next(sources[specifier] ?? specifier, context),
})

Socket.prototype.connect = () => {
  throw new Error('a documented program runs offline, and this one opened a connection')
}
