"""Places orders and confirms them, without a library: psql is all that it needs.

    DATABASE_URL=postgresql://... python3 orders.py place Ada
    DATABASE_URL=postgresql://... python3 orders.py confirm

Placing an order sends its message in the transaction that stores it. Confirming one deletes the message in the
transaction that records the confirmation, so that each order is confirmed once, whenever the program dies.

With a driver such as psycopg, the statements are the same.
"""

import json
import os
import subprocess
import sys

SETUP = """
create table if not exists python_orders (
  id bigint generated always as identity primary key,
  customer text not null,
  confirmed_at timestamptz
);
select trunkline.create_queue('python-orders');
"""

PLACE = """
with placed as (
  insert into python_orders (customer) values (:'customer') returning id
)
select placed.id
from placed
cross join lateral trunkline.send_message('python-orders', json_build_object('order', placed.id)::text);
"""

RECEIVE = """
select to_json(received)
from trunkline.receive_message('python-orders', visibility_timeout => interval '1 minute') as received;
"""

CONFIRM = """
update python_orders set confirmed_at = now() where id = :'order'::bigint;
select trunkline.delete_message('python-orders', :'receipt_handle');
"""


def run(statements, **variables):
    """Runs statements in one transaction and returns what they printed."""
    settings = [f"--set={name}={value}" for name, value in variables.items()]
    completed = subprocess.run(
        ["psql", os.environ["DATABASE_URL"], "--no-psqlrc", "--quiet", "--tuples-only", "--no-align",
         "--set=ON_ERROR_STOP=1", "--single-transaction", *settings, "--file=-"],
        input=statements, text=True, capture_output=True,
    )
    if completed.returncode != 0:
        raise RuntimeError(completed.stderr.strip())
    return completed.stdout.strip()


def place(customer):
    print(f"placed order {run(PLACE, customer=customer)}")


def confirm():
    """Confirms orders until none is left."""
    while received := run(RECEIVE):
        message = json.loads(received)
        order = json.loads(message["body"])["order"]
        # The place for the work itself. It has a minute before somebody else may receive the message.
        run(CONFIRM, order=order, receipt_handle=message["receipt_handle"])
        print(f"confirmed order {order}")


if __name__ == "__main__":
    run(SETUP)
    if sys.argv[1:2] == ["place"]:
        place(sys.argv[2])
    else:
        confirm()
