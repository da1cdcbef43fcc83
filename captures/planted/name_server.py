"""A DNS server that takes questions and never answers: name_server.py ADDRESS"""

import socket
import sys

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
while True:
    server.recvfrom(1_500)
