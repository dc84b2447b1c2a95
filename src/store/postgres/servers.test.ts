import { expect, test } from 'vitest'
import { placeOf, serversIn } from './servers.ts'

test.each([
  ['postgres://ada:s@one/db', ['postgres://ada:s@one/db'], 'one/db'],
  [
    'postgres://ada:a,b@one:1,two:2/db?sslmode=require',
    ['postgres://ada:a,b@one:1/db?sslmode=require', 'postgres://ada:a,b@two:2/db?sslmode=require'],
    'one:1,two:2/db',
  ],
  ['postgres://one,two', ['postgres://one', 'postgres://two'], 'one,two'],
  ['nonsense', ['nonsense'], 'ROCKPOOL_DATABASE_URL'],
])('%s names %j, which are at %s', (url, servers, place) => {
  expect(serversIn(url)).toEqual(servers)
  expect(placeOf(url)).toBe(place)
})
