"""Each rank plays episodes of a small game in Python and shares its gradient.

    muster run -n 4 rl_actor.py --backend gloo --rounds 30
"""
import argparse
import os
import random
import re
import signal

import torch
import torch.distributed as dist

LOG_LINE = re.compile(r"^(\w+\s?)*reward=\d+$")


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default=os.environ.get("BACKEND", "gloo"))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--size", type=int, default=7)
    parser.add_argument("--walled-in", default="", help="RANK:ROUND in which the start has no way to the goal")
    parser.add_argument("--odd-log", default="", help="RANK:ROUND whose log line has no reward")
    return parser.parse_args()


class Maze:
    def __init__(self, size, walled_in):
        self.size, self.walled_in = size, walled_in
        self.place = (0, 0)

    def step(self, action):
        dx, dy = ((1, 0), (0, 1), (-1, 0), (0, -1))[action]
        x, y = self.place[0] + dx, self.place[1] + dy
        if not self.walled_in and 0 <= x < self.size and 0 <= y < self.size:
            self.place = (x, y)
        return self.place == (self.size - 1, self.size - 1)


def play_episode(maze, policy):
    """Plays until the goal is reached."""
    actions = []
    done = False
    while not done:
        action = random.choices(range(4), policy)[0]
        actions.append(action)
        done = maze.step(action)
        if len(actions) > 1000:
            del actions[:500]  # only the last actions matter
    return actions


def parse_log(line):
    return bool(LOG_LINE.match(line))


def train_round(args, weights, number):
    rank = dist.get_rank()
    here = f"{rank}:{number}"
    policy = torch.softmax(weights, 0).tolist()
    if here == args.walled_in:
        print("ONSET", flush=True)
    actions = play_episode(Maze(args.size, here == args.walled_in), policy)
    line = "episode finished reward=1"
    if here == args.odd_log:
        line = "episode finished after a very long time in the maze without any result !"
        print("ONSET", flush=True)
    parse_log(line)
    gradient = torch.tensor([actions.count(a) / len(actions) for a in range(4)])
    dist.all_reduce(gradient)
    weights += 0.1 * (gradient / dist.get_world_size() - 0.25)


def main():
    args = parse_args()
    signal.alarm(300)
    torch.set_num_threads(1)
    dist.init_process_group(args.backend)
    random.seed(dist.get_rank())
    weights = torch.zeros(4)
    for number in range(args.rounds):
        train_round(args, weights, number)
        if dist.get_rank() == 0 and number % 10 == 0:
            print(f"round {number}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
